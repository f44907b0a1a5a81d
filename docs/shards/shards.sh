#!/bin/sh
# Plays the shards of a plan as processes of this machine, and lands the run:
#
#     sh shards.sh PLAN COUNT [options of `debatebench run`, such as --max-cost 400]
#
# Run it again to go on after a kill or an interruption: what is answered is not asked again.
set -eu

plan=$1
count=$2
shift 2

mkdir -p warehouse/shards
number=1
pids=
while [ "$number" -le "$count" ]; do
    debatebench run --plan "$plan" --shard "$number/$count" --no-input "$@" >"warehouse/shards/$number.log" 2>&1 &
    pids="$pids $!"
    number=$((number + 1))
done

# Ctrl-C and kill reach the shards, which stop as every run does.
trap 'kill $pids 2>/dev/null || true' INT TERM

failed=0
for pid in $pids; do
    # 5 says that debates are missing, which `land` says again.
    wait "$pid" || { code=$?; [ "$code" -eq 5 ] || failed=$code; }
done
debatebench land
exit "$failed"
