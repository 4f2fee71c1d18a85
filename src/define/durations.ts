/** placeholder */
export type Duration = number | string | { total?: unknown };
