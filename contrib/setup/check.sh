#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What stands between this host and wsiso, with the remedy; nothing is changed. Run it as
# the user who is to call wsiso:
#
#   contrib/setup/check.sh [WSISO]
#
# With a wsiso installed, or named, `wsiso check` really tries things and has the last word.
# The exit status is 0 if nothing is in the way.
set -u
bad=0

say() { printf '%-10s %-8s %s\n' "$1" "$2" "$3"; }
remedy() {
	bad=1
	say "$1" failed "$2"
	printf '%-10s %-8s -> %s\n' '' '' "$3"
}
sysctl_is() { [ "$(cat "/proc/sys/$1" 2>/dev/null)" = "$2" ]; }

check_user() {
	if [ "$(id -u)" -eq 0 ]; then
		remedy user "this is root" "run it as the ordinary user who is to call wsiso"
	else
		say user ok "$(id -un), groups: $(id -Gn)"
	fi
}

check_bwrap() {
	for bwrap in /usr/bin/bwrap /usr/local/bin/bwrap; do
		[ -x "$bwrap" ] && break
	done
	if [ ! -x "$bwrap" ]; then
		remedy bwrap "not installed" "install bubblewrap 0.12 or later"
	elif [ -u "$bwrap" ]; then
		remedy bwrap "$bwrap is setuid" "chmod u-s $bwrap: wsiso needs no setuid program"
	else
		say bwrap ok "$bwrap, $("$bwrap" --version)"
	fi
}

check_userns() {
	if [ -x "$bwrap" ] && "$bwrap" --unshare-user --ro-bind / / /bin/true 2>/dev/null; then
		say userns ok "$bwrap makes user namespaces"
	elif sysctl_is kernel/apparmor_restrict_unprivileged_userns 1; then
		remedy userns "AppArmor allows no user namespace to $bwrap" \
			"load the distribution's profile of bwrap, once: see contrib/setup/apparmor.md"
	elif sysctl_is kernel/unprivileged_userns_clone 0; then
		remedy userns "switched off" "sysctl -w kernel.unprivileged_userns_clone=1"
	elif sysctl_is user/max_user_namespaces 0; then
		remedy userns "switched off" "sysctl -w user.max_user_namespaces=15000"
	else
		remedy userns "$bwrap cannot make a user namespace" \
			"a container or a service that forbids it (seccomp, RestrictNamespaces=)?"
	fi
}

# Two profiles of one name, or for one program, are one too many.
check_profiles() {
	files=$(grep -ls -E '^ *(profile +)?("?bwrap"?|/usr(/local)?/bin/bwrap) ' \
		/etc/apparmor.d/* 2>/dev/null)
	count=$(printf '%s' "$files" | grep -c .)
	if [ "$count" -gt 1 ]; then
		remedy apparmor "$count files have a profile of bwrap: $(echo "$files" | xargs)" \
			"keep one: the distribution's bwrap-userns-restrict, if it is among them"
	else
		say apparmor ok "${files:-no file with a profile of bwrap}"
	fi
}

# No limit of a whole session without: not needed otherwise.
check_cgroup() {
	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	if [ "$(stat -f -c %T /sys/fs/cgroup 2>/dev/null)" != cgroup2fs ]; then
		say cgroup no "no cgroup v2: limits.memory_max, pids_max and cpu_max are refused"
	elif [ -w "/sys/fs/cgroup$own/cgroup.procs" ]; then
		say cgroup ok "$own is this user's"
	else
		say cgroup no "$own is not delegated: see contrib/systemd for limits of sessions"
	fi
}

check_user
check_bwrap
check_userns
check_profiles
check_cgroup
wsiso=${1:-$(command -v wsiso || true)}
if [ -n "$wsiso" ]; then
	echo
	exec "$wsiso" check
fi
exit "$bad"
