# need_browser.sh - sourced by the scripts that drive a browser, from the root of the tree: sets $browser
# and installs playwright-core, or skips, loudly, and ends.
browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
    echo "ok 1 # SKIP there is no $browser"
    exit 0
fi
# One at a time: several of these scripts may start at once.
if ! flock tests/pages/package.json sh -c '
    cd tests/pages && { [ -d node_modules/playwright-core ] || npm ci --ignore-scripts --no-audit --no-fund >&2; }'; then
    echo "ok 1 # SKIP playwright-core is not available"
    exit 0
fi
