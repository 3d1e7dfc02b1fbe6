// Arguments of events, as the local protocol writes them: bytes are {"$bin":"<base64>"}, and an object whose only key
// looks like that is written with one $ more (docs/protocol.md, "Payloads"). Integers of any length are kept.

import { Blob } from "node:buffer";
import { randomUUID } from "node:crypto";
import { tooDeep } from "./errors.js";

/** How deep a line may be nested, and where in it arguments stand: in the params of the call. */
const DEEPEST_LEVEL = 64;
const ARGUMENTS_LEVEL = 3;
const MARKED = /^\$+bin$/;
/** How an integer that a Number cannot hold looks while it goes through JSON.parse or JSON.stringify. */
const MARK = `int-${randomUUID()}:`;
const MAY_HOLD_INTEGER = /[0-9]{16}/;
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const INTEGER = /^-?[0-9]+$/;

/** JSON.parse, with a BigInt for each integer that a Number cannot hold exactly. */
export function parse(text) {
  const marked = MAY_HOLD_INTEGER.test(text) ? markIntegers(text) : text;
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value);
}

/** The text with each integer that a Number cannot hold as a string with a mark. What stands in strings stays: their ends
 * are looked for one after the other, because a regular expression runs out of stack in a string with millions of escapes. */
function markIntegers(text) {
  const pieces = [];
  for (let start = 0; start < text.length;) {
    const quote = text.indexOf('"', start);
    const end = quote < 0 ? text.length : quote;
    const between = text.slice(start, end);
    pieces.push(MAY_HOLD_INTEGER.test(between) ? between.replace(NUMBER, markInteger) : between);
    start = quote < 0 ? end : endOfString(text, quote);
    pieces.push(text.slice(end, start));
  }
  return pieces.join("");
}

function markInteger(number) {
  return !INTEGER.test(number) || Number.isSafeInteger(Number(number)) ? number : `"${MARK}${number}"`;
}

/** Where the string is over that begins at `quote`. */
function endOfString(text, quote) {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslash = end;
    while (text[backslash - 1] === "\\") backslash--;
    if ((end - backslash) % 2 === 0) return end + 1;
  }
  return text.length;
}

/** JSON.stringify, with the digits of each BigInt. */
export function stringify(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    const marked = JSON.stringify(value, (_, one) => (typeof one === "bigint" ? MARK + one : one));
    if (!marked.includes(MARK)) throw error;
    return marked.replace(new RegExp(`"${MARK}(-?[0-9]+)"`, "g"), "$1");
  }
}

/** Refuses a line that is nested too deeply: the daemon could not tell which call it belongs to. */
export function checkDepth(value, level = 1) {
  if (value === null || typeof value !== "object") return;
  if (level > DEEPEST_LEVEL) throw tooDeep(DEEPEST_LEVEL);
  if (typeof value.toJSON === "function") return checkDepth(value.toJSON(), level);
  for (const one of Object.values(value)) checkDepth(one, level + 1);
}

/** Arguments as they go into JSON: Buffers, typed arrays and ArrayBuffers become what the protocol has for bytes. What is
 * nested too deeply, or without end, is refused here: the daemon could not tell which call a line that it cannot read
 * belongs to. */
export function encode(value, level = ARGUMENTS_LEVEL) {
  if (value === null || typeof value !== "object") return value;
  if (level > DEEPEST_LEVEL) throw tooDeep(DEEPEST_LEVEL);
  const bytes = bytesOf(value);
  if (bytes) return { $bin: bytes.toString("base64") };
  if (value instanceof Blob) throw new TypeError("a Blob is not taken: send the Buffer of its arrayBuffer()");
  if (typeof value.toJSON === "function") return encode(value.toJSON(), level);
  if (Array.isArray(value)) return value.map((one) => encode(one, level + 1));
  const keys = Object.keys(value);
  const members = keys.map((key) => [key, encode(value[key], level + 1)]);
  if (keys.length === 1 && MARKED.test(keys[0])) members[0][0] = "$" + keys[0];
  return Object.fromEntries(members);
}

/** The other way round: a value out of JSON, with a Buffer for each sequence of bytes. Without `bigints` the integers
 * that need one are the nearest Number, as JSON.parse has them. */
export function decode(value, bigints = true) {
  if (typeof value === "bigint" && !bigints) return Number(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = decode(value[index], bigints);
    return value;
  }
  const keys = Object.keys(value);
  if (keys.length === 1 && MARKED.test(keys[0])) {
    const [key] = keys;
    return key === "$bin" ? Buffer.from(value.$bin, "base64") : { [key.slice(1)]: decode(value[key], bigints) };
  }
  for (const key of keys) {
    const member = value[key];
    // A member named __proto__ is data like any other; assigning to it would do something else.
    if (member !== null && key !== "__proto__") value[key] = decode(member, bigints);
  }
  return value;
}

function bytesOf(value) {
  if (Buffer.isBuffer(value)) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return Buffer.from(value);
  return null;
}
