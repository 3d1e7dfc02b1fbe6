// What becomes of values on their way into JSON and out of it.

import assert from "node:assert/strict";
import { checkDepth, decode, encode, parse, stringify } from "../lib/payload.js";

const there = (value) => stringify(encode(value));
const back = (text) => decode(parse(text));

assert.equal(there([1, "a", null, { b: [true] }]), '[1,"a",null,{"b":[true]}]');
assert.equal(there([Buffer.from("hi"), new Uint8Array([1, 2]).subarray(1), new ArrayBuffer(1)]),
  '[{"$bin":"aGk="},{"$bin":"Ag=="},{"$bin":"AA=="}]');
assert.equal(there({ $bin: "text" }), '{"$$bin":"text"}');
assert.equal(there({ $$bin: { $bin: 1 } }), '{"$$$bin":{"$$bin":1}}');
assert.equal(there({ $bin: 1, other: 2 }), '{"$bin":1,"other":2}');
assert.equal(there(new Date(0)), '"1970-01-01T00:00:00.000Z"');
assert.equal(there({ a: undefined, b: [undefined], c: () => 1 }), '{"b":[null]}');
assert.equal(there([12345678901234567890n, -1n, "12345678901234567890"]), '[12345678901234567890,-1,"12345678901234567890"]');
assert.equal(there(JSON.parse('{"__proto__":{"x":1}}')), '{"__proto__":{"x":1}}');
assert.throws(() => there([new Blob(["hi"])]), /Blob/);
const nested = (levels) => (levels === 0 ? 1 : [nested(levels - 1)]);
assert.equal(there(nested(62)).length, 62 * 2 + 1);
assert.throws(() => there(nested(63)), { type: "InvalidParams", code: -32602, retry: false });
const endless = {};
endless.self = endless;
assert.throws(() => there(endless), { type: "InvalidParams" });
checkDepth(nested(64));
assert.throws(() => checkDepth(nested(65)), { type: "InvalidParams", code: -32602, retry: false });
assert.throws(() => checkDepth({ params: { x: endless } }), { type: "InvalidParams" });
checkDepth({ toJSON: () => "text", endless });
assert.throws(() => stringify({ get bad() { throw new TypeError("of its own"); } }), /of its own/);

assert.deepEqual(back('{"$bin":"aGk="}'), Buffer.from("hi"));
assert.deepEqual(back('[{"$$bin":"text"},{"$bin":"","more":1}]'), [{ $bin: "text" }, { $bin: "", more: 1 }]);
assert.deepEqual(back('{"$$$bin":{"$$bin":1}}'), { $$bin: { $bin: 1 } });
assert.deepEqual(back("[9007199254740991,9007199254740993,-9007199254740993,1e300,12345678901234567890.5,0.1]"),
  [9007199254740991, 9007199254740993n, -9007199254740993n, 1e300, 12345678901234567890.5, 0.1]);
assert.deepEqual(back('["9007199254740993","\\"9007199254740993",{"9007199254740993":"\\\\"}]'),
  ["9007199254740993", '"9007199254740993', { "9007199254740993": "\\" }]);
assert.deepEqual(decode(parse('{"a":[9007199254740993]}'), false), { a: [9007199254740992] });
assert.equal(JSON.stringify(back('{"__proto__":{"$bin":"aGk="}}')), '{"__proto__":{"$bin":"aGk="}}');
const long = `["${"9".repeat(1 << 20)}",${"9".repeat(5000)}]`;
assert.equal(stringify(back(long)), long);
// One string with millions of escapes, beside an integer that has to be looked for.
for (const escape of ['\\"', "\\\\", "ab\\n"]) {
  const escapes = `{"a":"${escape.repeat(4 << 20)}","b":9007199254740993,"c":"\\\\","d":"9007199254740993"}`;
  assert.equal(stringify(parse(escapes)), escapes);
}
for (const broken of ['["9007199254740993', '["9007199254740993\\"]', '["\\', "[9007199254740993"]) assert.throws(() => parse(broken));
console.log("ok");
