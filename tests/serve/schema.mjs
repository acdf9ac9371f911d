// schema.mjs - checks a value against the part of JSON Schema that serve/openapi.json uses.
// An unknown keyword is an error, so that nothing is silently left unchecked.

const silent = new Set(['description', 'default', 'title', 'summary', 'example', 'examples']);
const kind = v => v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v;
const isType = (v, t) => t === 'integer' ? Number.isInteger(v) : kind(v) === t;

export function resolve(doc, node) {
  while (node && node.$ref !== undefined) {
    if (!node.$ref.startsWith('#/')) throw new Error(`a reference to another file: ${node.$ref}`);
    const to = node.$ref.slice(2).split('/').reduce((n, k) => n?.[k.replace(/~1/g, '/').replace(/~0/g, '~')], doc);
    if (to === undefined) throw new Error(`a dangling reference: ${node.$ref}`);
    node = to;
  }
  return node;
}

const rules = {
  type: (want, v) => [want].flat().some(t => isType(v, t)) ? [] : [`found ${kind(v)}, wanted ${want}`],
  enum: (want, v) => want.includes(v) ? [] : [`found ${JSON.stringify(v)}, wanted one of ${want}`],
  minimum: (want, v) => typeof v !== 'number' || v >= want ? [] : [`found ${v}, wanted at least ${want}`],
  maximum: (want, v) => typeof v !== 'number' || v <= want ? [] : [`found ${v}, wanted at most ${want}`],
  minItems: (want, v) => !Array.isArray(v) || v.length >= want ? [] : [`found ${v.length} items, wanted at least ${want}`],
  maxItems: (want, v) => !Array.isArray(v) || v.length <= want ? [] : [`found ${v.length} items, wanted at most ${want}`],
  format: (want, v) => {
    if (want !== 'date-time') throw new Error(`format ${want}`);
    return typeof v !== 'string' || (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(v) && !Number.isNaN(Date.parse(v))) ? [] : [`found "${v}", wanted a time in UTC`];
  },
  required: (want, v) => kind(v) !== 'object' ? [] : want.filter(k => !(k in v)).map(k => `"${k}" is missing`),
  properties: (want, v, doc, at) => kind(v) !== 'object' ? [] : Object.keys(want).filter(k => k in v).flatMap(k => check(doc, want[k], v[k], `${at}/${k}`)),
  additionalProperties: (want, v, doc, at, schema) => {
    if (want !== false) throw new Error('additionalProperties other than false');
    return kind(v) !== 'object' ? [] : Object.keys(v).filter(k => !(k in (schema.properties ?? {}))).map(k => `"${k}" is not described`);
  },
  items: (want, v, doc, at) => !Array.isArray(v) ? [] : v.flatMap((x, i) => check(doc, want, x, `${at}/${i}`)),
  oneOf: (want, v, doc, at) => {
    const each = want.map(s => check(doc, s, v, at)), n = each.filter(e => e.length === 0).length;
    return n === 1 ? [] : [`fits ${n} of ${want.length} forms, wanted 1: ${n ? '' : each.flat().join('; ')}`];
  },
  anyOf: (want, v, doc, at) => {
    const each = want.map(s => check(doc, s, v, at));
    return each.some(e => e.length === 0) ? [] : [`fits no form: ${each.flat().join('; ')}`];
  },
};

// The errors in a value, as a list of messages.
export function check(doc, schema, value, at = '') {
  schema = resolve(doc, schema);
  return Object.entries(schema).flatMap(([key, want]) => {
    if (silent.has(key)) return [];
    if (!rules[key]) throw new Error(`the validator does not know "${key}"`);
    return rules[key](want, value, doc, at, schema).map(e => e.startsWith('/') ? e : `${at}: ${e}`);
  });
}
