// hostile.mjs FROM TO - a model whose description and texts hold what terminals obey, sealed properly:
// escape sequences, line ends, U+007F, U+009B. By other means than the library's (docs/FORMAT.md).
import crypto from 'node:crypto';
import fs from 'node:fs';

const [from, to] = process.argv.slice(2), file = fs.readFileSync(from);
const n = Number(file.readBigUInt64LE(0)), header = JSON.parse(file.subarray(8, 8 + n)), data = Buffer.from(file.subarray(8 + n));
// Numbers keep their digits: 1.0 is not 1 in a description.
const read = text => JSON.parse(text.replace(/(?<=[:,[])-?\d[\d.eE+-]*/g, '"#$&"')), write = value => JSON.stringify(value).replace(/"#([^"]*)"/g, '$1');
const meta = header.__metadata__, about = read(meta['ringfence.json']);
const evil = '\x1b]0;title\x07\x1b[31m\u009b31m\u007f\r\ninjected \u0085 ';
const sha256 = bytes => crypto.createHash('sha256').update(bytes);
const part = name => data.subarray(...header[name].data_offsets);

about.program = evil + about.program;
about.encoder.name = '/' + evil;
about.settings = { [evil]: evil, nested: { [evil + 2]: [evil] }, ['\u009b']: 1 };
about.summary.tuning = { why_not: evil };
about.summary.expected = { why_not: evil };
about.summary.budget = { verdict: evil, classes: [{ label: evil }] };
about.summary.fence = { goal: evil, why_not: evil };
part('train.texts').write(evil.repeat(1000).slice(0, 3000)); // cut to what is there
meta['ringfence.json'] = write(about);
const sums = JSON.parse(meta['ringfence.checksums']);
for (const name of Object.keys(sums)) sums[name] = sha256(part(name)).digest('hex');
meta['ringfence.checksums'] = JSON.stringify(sums);
let text = Buffer.from(JSON.stringify(header));
text = Buffer.concat([text, Buffer.alloc((8 - text.length % 8) % 8, ' ')]);
const start = Buffer.alloc(8);
start.writeBigUInt64LE(BigInt(text.length));
sha256(Buffer.concat([start, text])).digest().copy(data, data.length - 32);
fs.writeFileSync(to, Buffer.concat([start, text, data]));
