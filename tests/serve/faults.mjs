// faults.mjs DIR - the service under bad clients, bad requests and bad conditions. Models in DIR.
// Prints TAP. Every test has a time limit; all of them take about two minutes, also with a
// sanitizer build (RF_SLOW=1).
import { done, note } from './lib.mjs';

const begin = Date.now();
for (const part of ['json', 'http', 'clients', 'reload', 'signals', 'strangers', 'system', 'memory']) {
  const start = Date.now();
  await (await import(`./faults_${part}.mjs`)).run();
  note(`faults_${part}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
}
note(`faults: ${((Date.now() - begin) / 1000).toFixed(1)} s`);
await done();
