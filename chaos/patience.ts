/** Waiting: for a while, and for a database that is away. */

/** How long a database that is away is waited for. */
const PATIENCE_MS = 30_000;

/** Waits for so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Asks again while the database is away: that is what the chaos is about. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  while (true) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(100);
    }
  }
}
