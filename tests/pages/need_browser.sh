# need_browser.sh - read by the scripts that drive a browser, from the root of the tree: sets
# $browser and brings playwright-core, or skips, loudly, and ends.
browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
    echo "ok 1 # SKIP there is no $browser"
    exit 0
fi
if [ ! -d tests/pages/node_modules/playwright-core ] &&
    ! (cd tests/pages && npm ci --ignore-scripts --no-audit --no-fund >&2); then
    echo "ok 1 # SKIP playwright-core is not to be had"
    exit 0
fi
