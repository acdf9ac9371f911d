# suite.mk - the parts of the suite, and which part needs which. tests/run.sh runs it: `check` is the
# quick part, `all` the whole. make starts what is ready in the order of the lists below, so what
# takes long, or what others wait for, comes first.

tap := @tests/part.sh tap
step := @tests/part.sh step

units := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
bats := $(patsubst tests/cli/%.bats,%,$(wildcard tests/cli/*.bats))

# More than four seconds of CPU each: left to `all`.
slow := test_resealed test_alloc test_alloc_train test_bad_model test_lab_run test_lab_updates test_features test_pages test_bert_base \
    test_drift_alarms
# Once more with the portable kernels. All kernels have the same bits (test_kernels, test_precision), so whole
# sessions and experiments are not repeated.
portable := test_kernels test_encoder test_embedder test_tune test_ans_step \
    test_methods_posthoc test_objectives test_cosine_objectives
# Whatever has threads, under ThreadSanitizer. test_check shares its threads with test_check_labels and would take
# a minute and a half.
threaded := test_base test_dataset test_embedder test_tune test_ans test_session test_tsne \
    test_methods_rules test_lab_run test_queue test_check_labels
# Not under AddressSanitizer: the big models and the long trainings of the reference take minutes there and reach
# no code of ours that the tiny encoders and short trainings do not.
big := test_features test_bert_base test_ans_reference

cli := $(addprefix cli-,$(bats))
asan := $(addprefix asan-,$(filter-out $(big),$(units)))
tsan := $(addprefix tsan-,$(threaded))
portables := $(addsuffix -portable,$(portable))
long := test_alloc test_alloc_train test_bad_model cli-train cli-tune cli-eval asan-test_alloc \
    asan-test_alloc_train asan-test_bad_model

.PHONY: check all left-out long
check: tidy format layers $(filter-out $(slow),$(units))
all: build-asan serve proxies torture kill build-tsan hub asan-hub python $(filter $(long),$(units) $(cli) $(asan)) asan-serve tsan-serve \
    pages lab-pages serve-page $(asan) asan-portable asan-fuzz $(tsan) $(cli) $(units) $(portables) \
    tidy format layers
# What takes an hour, by itself: make long.
long: long-torture long-resealed
left-out:
	@echo $(filter $(slow),$(units))

# ---- Sources ----
.PHONY: format layers tidy
format:
	$(step) $@ tools/check-format.sh
layers:
	$(step) $@ tools/check-layers.sh
tidy:
	$(step) $@ tools/check-tidy.sh

# ---- Unit programs and the program from outside ----
.PHONY: $(units) $(portables) $(cli) kill python
$(units):
	$(tap) $@ build/tests/$@
$(portables): %-portable:
	$(tap) $@ env RINGFENCE_KERNELS=portable build/tests/$*
$(cli): cli-%:
	$(tap) $@ bats --tap tests/cli/$*.bats
kill:
	$(tap) $@ bats --tap tests/long
python:
	$(tap) $@ bindings/python/tests/run.sh

# ---- The same with larger numbers: make long. ----
.PHONY: long-resealed long-torture
CASES ?= 20000
long-torture:
	$(tap) $@ tests/long/torture.sh 0
long-resealed:
	$(tap) $@ env RF_CASES=$(CASES) build/tests/test_resealed

# ---- Browsers and the service. They wait more than they work, so each has a lane beside the
# programs that need a CPU, and in a lane one follows the other (|). ----
.PHONY: pages lab-pages serve-page serve proxies torture asan-serve tsan-serve hub asan-hub
pages: | kill
	$(tap) $@ tests/pages/run.sh
lab-pages: | pages
	$(tap) $@ tests/pages/lab.sh
serve-page: | lab-pages
	$(tap) $@ tests/serve/page.sh
serve:
	$(tap) $@ tests/serve/run.sh
hub:
	$(tap) $@ node tests/hub/run.mjs
asan-hub: build-asan | hub
	$(tap) $@ env RF_SLOW=1 RF_PROGRAM=build-asan/ringfence node tests/hub/run.mjs
proxies: | serve
	$(tap) $@ tests/serve/run.sh proxies
torture: | proxies
	$(tap) $@ tests/long/torture.sh 12
asan-serve: build-asan | torture
	$(tap) $@ env RF_SLOW=1 RF_PROGRAM=build-asan/ringfence RF_TRAINER=build/ringfence tests/serve/run.sh
tsan-serve: build-tsan | asan-serve
	$(tap) $@ env RF_SLOW=1 RF_PROGRAM=build-tsan/ringfence RF_TRAINER=build/ringfence tests/serve/run.sh

# ---- Sanitizers. The preset asan is built by clang, so both compilers see every file. ----
.PHONY: build-asan build-tsan $(asan) asan-portable asan-fuzz $(tsan)
build-asan:
	$(step) $@ tests/build.sh asan
build-tsan:
	$(step) $@ tests/build.sh tsan ringfence_program $(threaded)
$(asan): asan-%: build-asan
	$(tap) $@ build-asan/tests/$*
asan-portable: build-asan
	$(tap) $@ env RINGFENCE_KERNELS=portable build-asan/tests/test_kernels
asan-fuzz: build-asan
	$(tap) $@ tests/fuzz/replay.sh build-asan
$(tsan): tsan-%: build-tsan
	$(tap) $@ build-tsan/tests/$*
