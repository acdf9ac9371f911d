// faults.mjs DIR - the service among bad clients, bad requests and bad days. Models in DIR.
// Prints TAP. Every test is bounded in time; the whole takes about two minutes, with a
// sanitizer's build (RF_SLOW=1) too.
import { done, note } from './lib.mjs';

const begin = Date.now();
for (const part of ['json', 'http', 'clients', 'reload', 'signals', 'strangers', 'system', 'memory']) {
  const start = Date.now();
  await (await import(`./faults_${part}.mjs`)).run();
  note(`faults_${part}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
}
note(`faults: ${((Date.now() - begin) / 1000).toFixed(1)} s`);
await done();
