// store.mjs DIR - the service with --store: what is kept and what is not, deleting, faults of the
// disk, several programs on one file, drift. Models in DIR. Prints TAP. Files are read with
// Debian's sqlite3, which knows nothing of ringfence, and answers are compared with `ringfence predict`.
import { done, note } from './lib.mjs';

const begin = Date.now();
for (const part of ['kept', 'faults', 'drift']) {
  const start = Date.now();
  await (await import(`./store_${part}.mjs`)).run();
  note(`store_${part}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
}
note(`store: ${((Date.now() - begin) / 1000).toFixed(1)} s`);
await done();
