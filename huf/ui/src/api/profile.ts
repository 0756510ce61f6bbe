/** Endpoints for the user's own profile, one function each. */
import { callGet, callPost } from "./http.ts";

export interface Profile {
	user: string;
	first_name: string;
	last_name: string | null;
	language: string | null;
	default_agent: string | null;
	deputy: string | null;
	away_until: string | null;
}

export const fetchProfile = () => callGet<Profile>("huf.api.profile.get_profile");
export const saveProfile = (profile: object) => callPost<Profile>("huf.api.profile.save_profile", profile);
export const changePassword = (old_password: string, new_password: string) =>
	callPost("huf.api.profile.change_password", { old_password, new_password });

interface Session {
	id: string;
	last_used: string;
	address: string | null;
	is_current: boolean;
}

export const fetchSessions = () => callGet<Session[]>("huf.api.profile.get_sessions");
export const endOtherSessions = () => callPost<Session[]>("huf.api.profile.end_other_sessions");
export const endSession = (session: string) => callPost<Session[]>("huf.api.profile.end_session", { session });
