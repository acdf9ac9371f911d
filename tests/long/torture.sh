#!/bin/sh
# torture.sh MOST - torture.mjs with the models of the tests of the service
set -eu
cd "$(dirname "$0")/../.."
tests/serve/models.sh build/serve
exec node tests/long/torture.mjs build/serve "$1"
