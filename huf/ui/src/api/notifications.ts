/** Endpoints for the user's notifications, one function each. */
import { callGet, callPost } from "./http.ts";

interface Notification {
	name: string;
	subject: string;
	email_content: string | null;
	document_type: string | null;
	document_name: string | null;
	read: 0 | 1;
	creation: string;
}

export const fetchNotifications = () => callGet<Notification[]>("huf.api.notification.get_notifications");
export const markRead = (name: string) => callPost("huf.api.notification.mark_read", { name });
