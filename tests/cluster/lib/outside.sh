# shellcheck shell=bash
# Beds as the machine sees them. A bed is alive as long as its supervisor holds the lock on its folder; numbers are
# given, and dead beds removed, under the lock on the folder of all beds.

# The folder of all beds, locked until the descriptor is closed.
lock_state() {
  mkdir -p "$state"
  exec {all}<"$state"
  flock "$all"
}

is_alive() { # is_alive N
  [ -d "$state/$1" ] && ! flock --shared --nonblock "$state/$1" true
}

group_of() { echo "etcd-warden-bed-$1"; }

# Mount points of control group hierarchies, of either version.
hierarchies() {
  grep -E '^[^ ]+ [^ ]+ cgroup2? ' /proc/self/mounts | cut -d ' ' -f 2
}

remove_groups() { # remove_groups N
  local hierarchy
  for hierarchy in $(hierarchies); do
    find "$hierarchy/$(group_of "$1")" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  done
}

processes_of() { # processes_of N
  local hierarchy
  for hierarchy in $(hierarchies); do
    find "$hierarchy/$(group_of "$1")" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | sort -u
}

# The kernel ends them with the bed's first process; this waits, and helps where that one lives on.
end_processes() { # end_processes N
  local ids try
  for ((try = 0; try < 100; try++)); do
    mapfile -t ids < <(processes_of "$1")
    ((${#ids[@]})) || return 0
    kill -KILL "${ids[@]}" 2>/dev/null || true
    sleep 0.1
  done
  echo "bed: processes of bed $1 don't end: ${ids[*]}" >&2
}

# What a dead bed leaves: mounts and routes go with its last process.
remove_rest() { # remove_rest N
  end_processes "$1"
  ip link delete "bed$1" 2>/dev/null || true
  remove_groups "$1"
  rm -rf "${state:?}/$1"
}

# With the lock on all beds held.
sweep() {
  local folder
  for folder in "$state"/*/; do
    [ ! -d "$folder" ] || is_alive "$(basename "$folder")" || remove_rest "$(basename "$folder")"
  done
}

free_number() {
  local number
  for ((number = 1; number <= 250; number++)); do
    # Other programs may use these networks too.
    if [ ! -e "$state/$number" ] && [ -z "$(ip address show to "10.199.$number.0/24")" ]; then
      echo "$number"
      return
    fi
  done
  die 'all 250 numbers are taken: bed list shows the beds, bed down N ends one'
}

# Takes a number (the first free one unless it is given), and leaves the lock on its folder in descriptor $alive.
claim() { # claim [N]
  lock_state
  sweep
  local number=${1:-$(free_number)}
  [ ! -d "$state/$number" ] || die "bed $number is up already: bed down $number ends it, bed up without a number takes a free one"
  use_bed "$number"
  mkdir -p "$run"/{command,log,pid}
  exec {alive}<"$run"
  flock "$alive"
  exec {all}<&-
}

# Whether beds can be had here; the message is what to do about it.
check() {
  require_root
  is_built || die 'not everything is built that the pins name: run tests/cluster/bed build (as root, with Go)'
}

# A bridge shows its packets to iptables only where this module is there; a namespace can't ask for it.
bridge_filter() {
  [ -e /proc/sys/net/bridge ] || modprobe br_netfilter ||
    die 'the kernel has no br_netfilter, without which pods reach no Service: load the module'
}

# Into number, nodes, minor, flags and tied.
read_options() {
  number='' nodes=1 minor=$node_minor flags=() tied=''
  while (($#)); do
    case $1 in
    --nodes)
      [[ ${2:-} = [12] ]] || die "--nodes takes 1 or 2, not '${2:-}'"
      nodes=$2 && shift
      ;;
    --kubernetes)
      [ -d "$here/modules/kubernetes-${2:-}" ] || die "--kubernetes takes 1.34, 1.36 or 1.37, not '${2:-}'"
      minor=$2 && shift
      ;;
    --control-plane) nodes=0 ;;
    --apiserver-flag)
      [[ ${2:-} = --* ]] || die "--apiserver-flag takes a flag of kube-apiserver, such as --v=4, not '${2:-}'"
      flags+=("$2") && shift
      ;;
    --tied) tied=tied ;;
    *)
      [[ $1 =~ ^[1-9][0-9]*$ ]] && (($1 <= 250)) || die "up takes a number up to 250 and options, not '$1': see bed --help"
      number=$1
      ;;
    esac
    shift
  done
  [ "$minor" = "$node_minor" ] || nodes=0
}

up() { # up [N] [OPTION…]
  local supervisor
  read_options "$@"
  check
  bridge_filter
  claim "$number"
  ln -s "$(part_dir "kubernetes-$node_minor")/kubectl" "$run/kubectl"
  printf 'nodes=%s\nminor=%s\n' "$nodes" "$minor" >"$run/options"
  touch "$run/apiserver-flags" "$run/log/bed.log"
  ((${#flags[@]} == 0)) || printf '%s\n' "${flags[@]}" >"$run/apiserver-flags"
  # Open here, so that it can be read once the supervisor has removed it.
  exec {log}<"$run/log/bed.log"
  [ "$tied" ] || exec </dev/null
  setsid "$here/lib/supervise" "$n" $tied <&0 >>"$run/log/bed.log" 2>&1 {log}<&- &
  supervisor=$!
  echo "$supervisor" >"$run/supervisor"
  exec {alive}<&-
  trap 'kill "$supervisor" 2>/dev/null' INT TERM
  until [ -e "$run/ready" ] || ! kill -0 "$supervisor" 2>/dev/null; do sleep 0.05; done
  [ -e "$run/ready" ] || {
    cat <&"$log" >&2
    die "bed $n did not come up: above is what its programs said last"
  }
  echo "$n"
}

down() { # down N: also one that is already gone
  use_bed "$1"
  if is_alive "$n"; then
    kill "$(<"$run/supervisor")" 2>/dev/null || true
    wait_for 30 "end of bed $n" test ! -d "$run"
  fi
  lock_state
  sweep
  exec {all}<&-
}

known_bed() { # known_bed N
  use_bed "$1"
  is_alive "$n" || die "there is no bed $n: bed list shows the beds, bed up starts one"
}

enter() { # enter N COMMAND…
  local pid
  known_bed "$1"
  shift
  pid=$(<"$run/namespaces")
  exec nsenter -t "$pid" -n -m -C --pid="/proc/$pid/ns/pid_for_children" -- "$@"
}

load() { # load N IMAGE.tar…: into every node
  local image socket
  known_bed "$1"
  shift
  for image in "$@"; do
    [ -r "$image" ] || die "can't read the image $image"
    for socket in "$run"/node-*/containerd.sock; do
      (enter "$n" ctr -a "$socket" -n k8s.io images import - <"$image") || die "$image is no image that containerd takes"
    done
  done
}

known_program() { # known_program N NAME
  known_bed "$1"
  [ -e "$run/command/${2:-}" ] || die "bed $1 has no program '${2:-}': bed status $1 shows them"
}

send() { # send SIGNAL PID: by the shell's own kill, since the program is in a package that may not be there
  (enter "$n" bash -c "kill -$1 $2")
}

is_running() { # is_running NAME
  send 0 "$(<"$run/pid/$1")" 2>/dev/null
}

is_stopped() { ! is_running "$1"; }

stop() { # stop N NAME: at once, as a crash would
  known_program "$@"
  send KILL "$(<"$run/pid/$2")" 2>/dev/null || true
  wait_for 10 "end of $2" is_stopped "$2"
}

start() { # start N NAME
  known_program "$@"
  is_stopped "$2" || die "$2 of bed $n is running: bed stop $n $2 ends it"
  # The second node's programs are started by the process that holds its namespaces, the others by the first.
  local starter=1 node=node-1
  [[ $2 != *-2 ]] || { starter=$(<"$run/pid/node-2") && node=node-2; }
  touch "$run/wanted/$node/$2"
  send USR1 "$starter"
  wait_for 10 "start of $2" is_running "$2"
}

status() { # status N
  local file name
  known_bed "$1"
  for file in "$run"/pid/*; do
    name=${file##*/}
    if is_running "$name"; then echo "up    $name"; else echo "DOWN  $name"; fi
  done
}

list() {
  local folder
  for folder in "$state"/*/; do
    if is_alive "$(basename "$folder")"; then basename "$folder"; fi
  done
}
