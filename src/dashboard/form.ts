/**
 * Reading a form that somebody has sent, within limits.
 *
 * @module
 */

/** What came of reading a form. */
export type FormResult =
  | { readonly kind: "form"; readonly form: URLSearchParams }
  | { readonly kind: "refused"; readonly status: 413 | 415; readonly why: string };

/** A signal's payload is the largest thing that anybody types into these pages. */
const MAX_BYTES = 256 * 1_024;

/** Reads the form of a request. */
export async function readForm(request: Request): Promise<FormResult> {
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") {
    return { kind: "refused", status: 415, why: "It is not the form of a page of this dashboard." };
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (size > MAX_BYTES) {
      return { kind: "refused", status: 413, why: `It is larger than ${MAX_BYTES} bytes.` };
    }
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return { kind: "form", form: new URLSearchParams(new TextDecoder().decode(bytes)) };
}
