// smuggling.mjs - requests whose end is read differently by different programs, with a second request hidden behind it

// The service refuses these with 400. hidden: the bytes of a whole request; post: the first lines of the outer one.
export function doubtful(hidden, post = 'POST /v1/classify HTTP/1.1\r\nHost: localhost\r\n') {
  const n = hidden.length, chunk = body => `${post}Transfer-Encoding: chunked\r\n\r\n${body}${hidden}`;
  const headers = [`Content-Length:\r\n ${n}`, 'Transfer-Encoding:\r\n chunked', `Content-Lengt: ${n}\r\n h`, 'Transfer-Encodin: chunked\r\n g', `X: a\r\n Content-Length: 5\r\nContent-Length: ${n}`, `Content-Length: ${n}\0`, `Content-Length\0: ${n}`, 'Transfer-Encoding: chunked ', 'Cookie: ' + 'a;'.repeat(2000)];
  return [...headers.map(h => `${post}${h}\r\n\r\n${hidden}`), chunk('2;\nxx\r\n0\r\n\r\n'), chunk('2\nxx\n0\n\n'), `GET /healthz\0 HTTP/1.1\r\nHost: localhost\r\n\r\n${hidden}`,
    hidden.replaceAll('\r\n', '\n') + hidden, 'GET /healthz HTTP/1.1\r\n\r\n' + hidden, `POST /v1/classify?${'a&'.repeat(1000)} HTTP/1.1\r\nHost: localhost\r\n\r\n${hidden}`];
}

// Two lengths, lengths beside chunks, lengths and chunks that are not quite numbers.
export function conflicting(hidden, post = 'POST /v1/classify HTTP/1.1\r\nHost: localhost\r\n') {
  const n = hidden.length, outer = (headers, body) => `${post}${headers.map(h => h + '\r\n').join('')}\r\n${body}`;
  const lengths = [`+${n}`, `-${n}`, `${n}abc`, `0x${n.toString(16)}`, `${n}, ${n}`, `${n},0`, '', `${n} 0`, `${'0'.repeat(30)}${n}`, '18446744073709551616'];
  const codings = ['xchunked', 'chunked, identity', 'identity', 'gzip, chunked', '"chunked"', '\x0bchunked', 'Chunked', 'chunked\x00'];
  const chunks = [`0\r\n\r\n`, `${n.toString(16)}\r\n`, '-1\r\n', '+5\r\n', '0x0\r\n\r\n', '0 \r\n\r\n', ' 0\r\n\r\n', '0;a="\r\n\r\n', '0\r\nContent-Length: 5\r\n\r\n', 'ffffffffffffffff\r\n', '10000000000000000\r\n\r\n', '00000000000000000000\r\n\r\n', '5\r\nabcdeXX0\r\n\r\n'];
  return [
    ...lengths.map(l => outer([`Content-Length: ${l}`], hidden)),
    ...[[n, 0], [0, n], [n, n]].map(([a, b]) => outer([`Content-Length: ${a}`, `Content-Length: ${b}`], hidden)),
    ...[`Content-Length : ${n}`, `Content-Length\t: ${n}`, ` Content-Length: ${n}`, `Content_Length: ${n}`].map(h => outer([h], hidden)),
    ...codings.map(c => outer([`Transfer-Encoding: ${c}`], `0\r\n\r\n${hidden}`)),
    ...codings.map(c => outer([`Transfer-Encoding: ${c}`, 'Content-Length: 5'], `0\r\n\r\n${hidden}`)),
    ...chunks.map(c => outer(['Transfer-Encoding: chunked'], c + hidden)),
    outer(['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`), outer(['Transfer-Encoding: chunked', `Content-Length: ${n + 5}`], `0\r\n\r\n${hidden}`),
    outer(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], `0\r\n\r\n${hidden}`), outer(['Connection: Content-Length', `Content-Length: ${n}`], hidden),
    `GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${n}\r\n\r\n${hidden}`, `HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${n}\r\n\r\n${hidden}`,
    outer(['Expect: 100-continue', `Content-Length: ${n}`], hidden), `POST /v1/classify HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`];
}
