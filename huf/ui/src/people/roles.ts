/** The roles that the web app changes, as in huf/ai/setup/people.py. */
import { t } from "../i18n/index.ts";

const KEYS: Record<string, string> = { "Huf User": "user", "Huf Manager": "manager", "System Manager": "system" };
export const ROLES = Object.keys(KEYS);
export const wordOf = (role: string) => t(`people.role.${KEYS[role]}`);
export const hintOf = (role: string) => t(`people.role_hint.${KEYS[role]}`);
