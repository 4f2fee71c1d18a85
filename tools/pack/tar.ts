/**
 * Reading and writing tarballs of npm packages.
 *
 * Written by hand, because the programs of different machines write different bytes: here the same
 * files always give the same tarball, so that anybody can check a published one against the source.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";

/** A file in a tarball. */
export interface PackedFile {
  /** Its path, with slashes. */
  readonly path: string;
  /** What is in it. */
  readonly bytes: Uint8Array;
  /** Whether it is a program. */
  readonly executable?: boolean;
}

const BLOCK = 512;
const MAX_NAME = 100;
/** The moment that npm stamps on every file, for the same reason. */
const MTIME = Date.UTC(1985, 9, 26, 8, 15) / 1_000;

/** The files of a gzipped tarball, in their order. */
export function unpack(tarball: Uint8Array): PackedFile[] {
  const tar = new Uint8Array(gunzipSync(tarball));
  const files: PackedFile[] = [];
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const header = tar.subarray(at, at + BLOCK);
    const path = textAt(header, 0, MAX_NAME);
    const size = parseInt(textAt(header, 124, 12), 8);
    const type = textAt(header, 156, 1);
    // Directories, links and long names do not occur in what `deno pack` writes.
    if ((type !== "0" && type !== "") || !Number.isSafeInteger(size)) {
      throw new Error(`Cannot read the tarball: "${path}" is not a plain file`);
    }
    const executable = (parseInt(textAt(header, 100, 8), 8) & 0o111) !== 0;
    files.push({ path, bytes: tar.slice(at + BLOCK, at + BLOCK + size), executable });
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

/** A gzipped tarball of these files, in the order of their paths. */
export function pack(files: readonly PackedFile[]): Uint8Array {
  const sorted = [...files].sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  const blocks = sorted.flatMap((file) => [headerOf(file), padded(file.bytes)]);
  // Two empty blocks end a tarball.
  blocks.push(new Uint8Array(2 * BLOCK));
  return new Uint8Array(gzipSync(Buffer.concat(blocks), { level: 9 }));
}

function headerOf({ path, bytes, executable = false }: PackedFile): Uint8Array {
  const name = new TextEncoder().encode(path);
  if (name.length > MAX_NAME) {
    throw new Error(`Cannot pack "${path}": its path has more than ${MAX_NAME} bytes; shorten it`);
  }
  const header = new Uint8Array(BLOCK);
  header.set(name, 0);
  putText(header, 100, `${octal(executable ? 0o755 : 0o644, 7)}\0`);
  putText(header, 108, `${octal(0, 7)}\0${octal(0, 7)}\0`);
  putText(header, 124, `${octal(bytes.length, 11)}\0${octal(MTIME, 11)}\0`);
  putText(header, 156, "0");
  putText(header, 257, "ustar\x0000");
  // The sum counts its own field as spaces.
  putText(header, 148, " ".repeat(8));
  putText(header, 148, `${octal(header.reduce((sum, byte) => sum + byte, 0), 6)}\0 `);
  return header;
}

function padded(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
  whole.set(bytes);
  return whole;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function putText(header: Uint8Array, at: number, text: string): void {
  header.set(new TextEncoder().encode(text), at);
}

function textAt(header: Uint8Array, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return new TextDecoder().decode(end === -1 ? field : field.subarray(0, end));
}
