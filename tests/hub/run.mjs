// run.mjs - the client of the hub from outside, as TAP. RF_PROGRAM: the program, instead of build/ringfence;
// RF_SLOW=1: it is a sanitizer build, and fewer faults are drawn. RF_ONLY chooses tests by name.
import { done } from '../serve/lib.mjs';

await import('./hub.mjs');
await import('./faults.mjs');
await done();
