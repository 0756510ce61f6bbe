/** Endpoints with which System Managers manage users, one function each; see huf/api/people.py. */
import { callGet, callPost } from "./http.ts";

export interface Person {
	name: string;
	full_name: string | null;
	enabled: 0 | 1;
	last_active: string | null;
	creation: string;
	/** The roles that this page changes. */
	roles: string[];
	other_roles: string[];
	invited_by: string;
}

interface People {
	people: Person[];
	can_mail: boolean;
}

/** `link` is null if it was mailed. */
interface Invitation {
	person: Person;
	link: string | null;
}

export const PAGE_LENGTH = 50;

export const fetchPeople = (start: number, text: string) =>
	callGet<People>("huf.api.people.get_people", { start, text });
export const invitePerson = (values: object) => callPost<Invitation>("huf.api.people.invite", values);
export const makeLink = (user: string, by_mail: 0 | 1) =>
	callPost<Pick<Invitation, "link">>("huf.api.people.make_link", { user, by_mail });
export const savePerson = (user: string, roles: string[], enabled: 0 | 1) =>
	callPost<Person>("huf.api.people.save_person", { user, roles, enabled });
export const fetchUsableAgents = (user: string) =>
	callGet<string[]>("huf.api.people.get_usable_agents", { user });
