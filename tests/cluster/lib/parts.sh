# shellcheck shell=bash
# What a bed is made of. A part is named <recipe>-<argument>; it lies in a folder that carries the hash of everything
# that it was made from, so that a changed pin or recipe is a new folder and an unchanged one is never made twice.

parts=(kubernetes-1.36 kubernetes-1.34 kubernetes-1.37 coredns etcd-3.5 etcd-3.6 etcd-3.7
  image-pause image-etcd-3.5 image-etcd-3.6 image-etcd-3.7)
packages=(busybox-static ca-certificates conntrack containerd containernetworking-plugins iproute2 iptables openssl runc)
# Kubernetes 1.36 built with Go 1.27 serves an OpenAPI document that kubectl can't read.
go_toolchain=go1.26.8

go_build() { # go_build MODULE OUTPUT LINKER_FLAGS PACKAGE…
  cd "$here/modules/$1" && GOTOOLCHAIN=$go_toolchain GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false' CGO_ENABLED=0 \
    nice go build -trimpath -ldflags "-s -w $3" -o "$2" "${@:4}"
}

# Unless told at link time, the version is a template that kubectl and the OpenAPI document choke on.
recipe_kubernetes() { # recipe_kubernetes OUTPUT MINOR
  local version package flags=
  version=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\).*|\1|p' "$here/modules/kubernetes-$2/go.mod")
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=${2#1.}"
    flags+=" -X $package.gitCommit=0000000000000000000000000000000000000000 -X $package.gitTreeState=clean"
    flags+=" -X $package.buildDate=1970-01-01T00:00:00Z"
  done
  go_build "kubernetes-$2" "$1/" "$flags" tool
}

recipe_coredns() {
  go_build coredns "$1/coredns" '' .
}

recipe_etcd() { # recipe_etcd OUTPUT MINOR
  go_build "etcd-$2" "$1/" '' tool && mv "$1/server" "$1/etcd"
}

recipe_image() { # recipe_image OUTPUT NAME
  case $2 in
  pause)
    go_build pause "$1/pause" '' . &&
      "$here/lib/image" "$1/image.tar" docker.io/local/pause:1 --entrypoint /pause "$1/pause:/pause"
    ;;
  etcd-*) etcd_image "$1" "${2#etcd-}" ;;
  esac
}

# The tools of 3.6 speak to every minor, and there are none of 3.5 as modules.
etcd_image() { # etcd_image OUTPUT MINOR
  local server tools=$2
  [ "$2" != 3.5 ] || tools=3.6
  server=$(part_dir "etcd-$2")
  tools=$(part_dir "etcd-$tools")
  "$here/lib/image" "$1/image.tar" "docker.io/local/etcd:$2" --busybox "$(command -v busybox)" \
    "$server/etcd:/usr/local/bin/etcd" "$tools/etcdctl:/usr/local/bin/etcdctl" "$tools/etcdutl:/usr/local/bin/etcdutl"
}

# What a part is made from, as text.
ingredients() {
  declare -f go_build "recipe_${1%%-*}"
  echo "$1 $go_toolchain"
  case $1 in
  image-pause) cat "$here/lib/image" "$here"/modules/pause/* ;;
  image-etcd-*)
    declare -f etcd_image
    cat "$here/lib/image"
    basename -a "$(part_dir "${1#image-}")" "$(part_dir etcd-3.6)"
    ;;
  *) cat "$here/modules/$1"/* ;;
  esac
}

part_dir() {
  local hash
  hash=$(ingredients "$1" | sha256sum)
  echo "$home/parts/$1-${hash:0:16}"
}

# Under a name of its own until it is whole: what was interrupted never counts as built. (Steps of a recipe are joined
# by &&: errexit is off where a command's failure is asked for.)
build_part() {
  local name=$1 target began=$SECONDS
  target=$(part_dir "$name")
  [ ! -d "$target" ] || return 0
  echo "bed: building $name" >&2
  rm -rf "$target.unfinished"
  mkdir -p "$target.unfinished"
  ("recipe_${name%%-*}" "$target.unfinished" "${name#*-}") || die "$name can't be built, see above"
  mv "$target.unfinished" "$target"
  echo "bed: built $name in $((SECONDS - began)) s" >&2
}

install_packages() {
  local package missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  echo "bed: installing ${missing[*]}" >&2
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}"; } >&2 ||
    die "apt-get can't install ${missing[*]}: install them by hand, then run bed build again"
}

require_root() {
  ((EUID == 0)) || die "needs root (namespaces, mounts, packages), and this is user $EUID: run it with sudo"
}

# Go since 1.21 fetches the toolchain that it is told to use.
require_go() {
  local remedy="install $go_toolchain, or Go 1.21 or newer with a way to a module proxy, and run bed build again"
  command -v go >/dev/null || die "no go in PATH: $remedy"
  GOTOOLCHAIN=$go_toolchain go version | grep -qF "$go_toolchain" || die "$(go version) can't stand in for $go_toolchain: $remedy"
}

# One build at a time on a machine; the second finds everything made.
build() {
  local name
  require_root
  require_go
  mkdir -p "$home/parts"
  exec {building}<"$home/parts"
  flock "$building"
  install_packages
  for name in "${parts[@]}"; do build_part "$name"; done
  exec {building}<&-
}

is_built() {
  local name
  for name in "${parts[@]}"; do [ -d "$(part_dir "$name")" ] || return 1; done
}

# Parts that the pins here don't name: of other working trees, or of the past.
prune() {
  local kept part
  kept=$(for part in "${parts[@]}"; do part_dir "$part"; done)
  for part in "$home"/parts/*; do
    [ ! -e "$part" ] || grep -qxF "$part" <<<"$kept" || rm -rf "$part"
  done
}
