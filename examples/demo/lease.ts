/** A short lease, so that nobody has to wait long for the recovery; in earnest it is 30 seconds. */
export const LEASE_MS = 2_000;
