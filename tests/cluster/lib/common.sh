# shellcheck shell=bash
# Where things are, and the two helpers that every part uses.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What was built: kept between runs, shared by all beds and working trees.
home=${ETCD_WARDEN_BED_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/etcd-warden/bed}
# What runs: a folder a bed. Numbers, links and routes belong to the whole machine, and so does this.
state=/run/etcd-warden-bed
# The version that comes with a node; the others are API servers alone.
node_minor=1.36

die() {
  echo "bed: $*" >&2
  exit 1
}

wait_for() { # wait_for SECONDS WHAT COMMAND…
  local seconds=$1 what=$2 end=$((SECONDS + $1))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= end)); then
      echo "bed: no $what within $seconds s" >&2
      return 1
    fi
    sleep 0.1
  done
}
