// server.mjs - a Hugging Face hub on loopback, with a second host for large files, and what can go
// wrong with either. It answers as the hub does: a description of a repository with sizes, git ids and
// sha256; small files directly; large ones by a redirect to a signed address on another host, which
// knows ranges and ETags.
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';

export const sha256 = bytes => createHash('sha256').update(bytes).digest('hex');
const gitId = bytes => createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');

// The files of a directory, by name.
export function filesOf(dir, below = '') {
  return Object.assign({}, ...fs.readdirSync(dir, { withFileTypes: true }).map(e => e.isDirectory()
    ? filesOf(`${dir}/${e.name}`, `${below}${e.name}/`) : { [below + e.name]: fs.readFileSync(`${dir}/${e.name}`) }));
}

export class Hub {
  static async start({ tls } = {}) {
    const h = new Hub();
    h.repositories = {};
    h.seen = []; // requests: {host: 'hub' or 'cdn', path, query, headers}
    h.faults = []; // {match(request), times, act(request, response, answer)}
    h.secret = randomBytes(8).toString('hex');
    const listen = (host, handler) => new Promise(done => {
      const server = tls ? https.createServer(tls, handler) : http.createServer(handler);
      server.on('clientError', (e, socket) => socket.destroy());
      server.on('tlsClientError', () => {});
      server.listen(0, host, () => done(server));
    });
    h.hub = await listen('127.0.0.1', (q, r) => h.take('hub', q, r));
    h.cdn = await listen('127.0.0.2', (q, r) => h.take('cdn', q, r));
    const scheme = tls ? 'https' : 'http';
    h.endpoint = `${scheme}://127.0.0.1:${h.hub.address().port}`;
    h.far = `${scheme}://127.0.0.2:${h.cdn.address().port}`;
    return h;
  }
  stop() {
    for (const server of [this.hub, this.cdn]) { server.closeAllConnections(); server.close(); }
  }

  // A repository of these files. card: what its page says; token: who may see it.
  add(name, files, { revisions = {}, card = {}, token } = {}) {
    const commit = createHash('sha1').update(name + Object.keys(files).map(f => f + gitId(files[f])).join()).digest('hex');
    this.repositories[name] = { name, files, card, token, commit, revisions: { main: commit, ...revisions } };
    return commit;
  }
  // The next `times` requests that match are answered by act.
  fault(match, act, times = Infinity) { this.faults.push({ match, act, times }); }

  take(host, q, r) {
    const url = new URL(q.url, 'http://x');
    const request = { host, path: decodeURIComponent(url.pathname), raw: url.pathname, query: url.searchParams, headers: q.headers };
    this.seen.push(request);
    r.on('error', () => {});
    const fault = this.faults.find(f => f.times > 0 && f.match(request));
    const answer = () => this.answer(request, r);
    if (!fault) return answer();
    fault.times--;
    fault.act(request, r, answer);
  }
  answer(request, r) {
    if (request.host === 'cdn') return this.answerFar(request, r);
    const api = request.raw.match(/^\/api\/models\/([^/]+\/[^/]+)\/revision\/([^/]+)$/);
    const file = request.path.match(/^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/);
    const repository = this.repositories[(api ?? file)?.[1]];
    const error = (status, code, message) => { r.writeHead(status, { 'X-Error-Code': code, 'X-Error-Message': message }); r.end(JSON.stringify({ error: message })); };
    if (!repository || (repository.token && request.headers.authorization !== `Bearer ${repository.token}`))
      return error(401, 'RepoNotFound', 'Invalid username or password.');
    if (api) {
      const revision = decodeURIComponent(api[2]);
      const commit = repository.revisions[revision] ?? (revision === repository.commit ? revision : null);
      if (!commit) return error(404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
      r.setHeader('Content-Type', 'application/json');
      return r.end(JSON.stringify(this.describe(repository, commit)));
    }
    const bytes = repository.files[file[3]];
    if (!bytes) return error(404, 'EntryNotFound', 'Entry not found');
    r.setHeader('X-Repo-Commit', repository.commit);
    if (!Hub.large(file[3])) return this.send(request, r, bytes, `"${gitId(bytes)}"`);
    r.writeHead(302, {
      'X-Linked-Etag': `"${sha256(bytes)}"`, 'X-Linked-Size': bytes.length, ETag: `"${sha256(bytes)}"`,
      Location: `${this.far}/${repository.name}/${file[3]}?Expires=1&Signature=${this.secret}`,
    });
    r.end('Found. Redirecting');
  }
  answerFar(request, r) {
    const [, owner, name, ...rest] = request.path.split('/');
    const bytes = this.repositories[`${owner}/${name}`]?.files[rest.join('/')];
    if (request.query.get('Signature') !== this.secret || !bytes) { r.writeHead(403); return r.end('AccessDenied'); }
    this.send(request, r, bytes, `"${sha256(bytes).slice(0, 32)}-1"`);
  }
  // With ranges, as RFC 9110 has them.
  send(request, r, bytes, etag) {
    const range = request.headers.range?.match(/^bytes=(\d+)-$/);
    const from = range && (!request.headers['if-range'] || request.headers['if-range'] === etag) ? Number(range[1]) : 0;
    r.setHeader('ETag', etag);
    r.setHeader('Accept-Ranges', 'bytes');
    if (from >= bytes.length && from > 0) { r.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }); return r.end(); }
    r.setHeader('Content-Length', bytes.length - from);
    if (from > 0) r.setHeader('Content-Range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`);
    r.statusCode = from > 0 ? 206 : 200;
    r.end(bytes.subarray(from));
  }
  static large(name) { return /\.(safetensors|onnx)$/.test(name); }
  describe(repository, commit) {
    return {
      id: repository.name, sha: commit, private: Boolean(repository.token), tags: ['bert', 'license:mit'], cardData: repository.card,
      siblings: Object.entries(repository.files).map(([rfilename, bytes]) => ({
        rfilename, size: bytes.length, blobId: gitId(bytes),
        ...(Hub.large(rfilename) ? { lfs: { sha256: sha256(bytes), size: bytes.length, pointerSize: 130 } } : {}),
      })),
    };
  }
}

// Which requests: for the description, for a file at the hub, for one at the other host.
export const api = q => q.host === 'hub' && q.path.startsWith('/api/');
export const file = name => q => q.host === 'hub' && q.path.endsWith('/' + name) && q.path.includes('/resolve/');
export const far = q => q.host === 'cdn';
