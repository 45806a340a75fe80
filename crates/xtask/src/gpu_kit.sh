#!/usr/bin/env bash
# Checks and times poplin on the GPU of this machine, in about eight minutes. Needs nothing but this
# folder and a driver. Results are written to $OUT, ./results if unset; the last lines are a table.
# QUICK=1 takes a little of each step, for software adapters; POPLIN_ADAPTER names an adapter.
set -u
cd "$(dirname "$0")"
out=${OUT:-$PWD/results}
quick=${QUICK:-}
export RUST_BACKTRACE=0
mkdir -p "$out"
[ -x poplin ] || tar -xJf kit.tar.xz
gpu=(--backend gpu)
doctor=()
if [ -n "${POPLIN_ADAPTER:-}" ]; then
    gpu=(--adapter "$POPLIN_ADAPTER")
    doctor=(--adapter "$POPLIN_ADAPTER")
fi
table=$out/results.csv
echo "step,seconds,outcome,found" >"$table"
failed=0

# Runs a step, for at most so many seconds: step NAME SECONDS PATTERN COMMAND...
# The last line of its output with the pattern is what it found.
step() {
    local name=$1 limit=$2 pattern=$3 begin=$SECONDS outcome found
    shift 3
    echo "== $name"
    timeout --kill-after=5 "$limit" "$@" >"$out/log" 2>&1
    code=$?
    case $code in
        0) outcome=ok ;;
        124 | 137) outcome="stopped after $limit s" ;;
        *) outcome="failed ($code)" ;;
    esac
    [ "$outcome" = ok ] || failed=1
    cat "$out/log"
    { echo "== $name: $outcome"; cat "$out/log"; } >>"$out/all.log"
    found=$(grep -E "$pattern" "$out/log" | tail -n 1 | tr -d '"' | tr -s ' ' | tr ',' ';')
    echo "$name,$((SECONDS - begin)),$outcome,$found" >>"$table"
}

: >"$out/all.log"
step info 60 "auto" ./poplin info
step doctor 240 "speed" ./poplin doctor "${doctor[@]}" --json "$out/doctor.json"
if [ $code = 2 ]; then
    echo "nothing to check: no GPU; name a software adapter by POPLIN_ADAPTER" >&2
    exit 2
fi

# A process for each group, so that one that hangs takes no other with it.
./gpu_suite --list 2>/dev/null | sed -n 's/: test$//p' >"$out/tests"
groups=$(cut -d: -f1 "$out/tests" | sort -u | grep -v '^doctor$')
[ -z "$quick" ] || groups="canaries reference_cases"
for group in $groups; do
    mapfile -t tests < <(grep "^$group::" "$out/tests")
    step "suite $group" 90 "test result" ./gpu_suite --exact "${tests[@]}"
done

workloads="headline w1 w3-64 w3-128 w4"
frames=()
if [ -n "$quick" ]; then
    workloads=w1
    frames=(--frames 2 --repeat 1)
fi
# shellcheck disable=SC2086
step bench 180 "^[|] default" ./poplin bench "${gpu[@]}" "${frames[@]}" --csv "$out/bench.csv" --workload $workloads
# shellcheck disable=SC2086
step "bench cpu" 180 "^[|] default" ./poplin bench --backend cpu "${frames[@]}" --csv "$out/bench_cpu.csv" --workload $workloads

scenes="ball layers handkerchiefs"
count=30
if [ -n "$quick" ]; then
    scenes=tablecloth
    count=2
fi
for scene in $scenes; do
    for backend in gpu cpu; do
        where=("${gpu[@]}")
        [ $backend = gpu ] || where=(--backend cpu)
        step "triangles $scene $backend" 90 "^time" ./poplin run "$scene" "${where[@]}" \
            --contact triangles --frames $count --no-cache --out "$out/runs/$scene-$backend"
        mv "$out/runs/$scene-$backend/contact-sheet.png" "$out/runs/$scene-$backend.png" 2>/dev/null
    done
done
(cd "$out/runs" && tar -cf ../pictures.tar ./*.png)
rm -rf "$out/runs" "$out/log" "$out/tests"

echo
column -s, -t "$table" 2>/dev/null || cat "$table"
exit $failed
