/** Values that many responses share. */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type Effect = "read" | "write" | "external";
/** 0 or 1, as a Check field is stored. */
export type Check = number;
