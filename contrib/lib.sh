#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What contrib/quickstart and contrib/run-tests share: packages, a bwrap that is good
# enough, an ordinary user, a build. To be sourced; nothing happens until a function is
# called. Everything may be run again: what is there already is left alone.

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BWRAP_WANTED=0.12.0
# shellcheck disable=SC2034 # for the scripts that source this
BUILD_PACKAGES=(gcc libc6-dev make autoconf automake pkgconf libyajl-dev libgit2-dev
	libarchive-dev git)
BWRAP_BUILD_PACKAGES=(gcc libc6-dev meson ninja-build pkgconf libcap-dev xz-utils)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
	say "$@"
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -- "$@"
	fi
}

# ---- the system ----

os_release() { (
	# shellcheck source=/dev/null
	. /etc/os-release && printf '%s\n' "${!1-}"
); }

# Debian 12 and 13, as root or with sudo; anything else is refused with what to do.
need_debian() {
	local id version
	[ -r /etc/os-release ] || refuse_system "a system without /etc/os-release"
	id=$(os_release ID) version=$(os_release VERSION_ID)
	case $id:$version in
	debian:12 | debian:13) ;;
	ubuntu:*) refuse_system "Ubuntu $version" \
		"Its AppArmor (since 23.10) grants user namespaces to /usr/bin/bwrap" \
		"alone, so that is where bwrap must be." ;;
	*) refuse_system "$id $version" ;;
	esac
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
		die "run this as root, or install sudo"
}

refuse_system() {
	die "$1 is not supported yet: Debian 12 and 13 are." "${@:2}" \
		"By hand: install the packages that README.md names and bwrap" \
		"$BWRAP_WANTED or later, then" \
		"autoreconf -fi, ./configure, make, make install, wsiso check"
}

package_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

package_known() {
	[ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# Other publishers' lists may be out of reach; only Debian's packages matter here.
apt_update() {
	say "updating the lists of packages"
	as_root apt-get update -q >&2 || say "some lists could not be updated; going on"
}

# install_packages NAME...: those that are missing, and nothing else
install_packages() {
	local name missing=()
	for name in "$@"; do
		package_installed "$name" || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	for name in "${missing[@]}"; do
		package_known "$name" || {
			apt_update
			break
		}
	done
	say "installing ${missing[*]}"
	apt_install "${missing[@]}" || {
		apt_update # a stale list names files that are gone
		apt_install "${missing[@]}"
	}
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends "$@" >&2 </dev/null
}

# ---- bwrap ----

bwrap_version() { "$1" --version 2>/dev/null | awk '{ print $2 }'; }

# Has a bwrap older than 0.12 the patch that keeps it from following a symlink of the
# payload's tree while it makes a mount point? Plant one and look where the folder went.
bwrap_probe_mount_point() {
	local dir fine=1
	dir=$(mktemp -d /tmp/wsiso-probe.XXXXXX)
	mkdir "$dir/tree" "$dir/outside"
	chmod -R 755 "$dir"
	ln -s "../../oldroot$dir/outside" "$dir/tree/link"
	"$1" --unshare-user --ro-bind / / --bind "$dir/tree" /mnt --dir /mnt/link/made \
		-- /bin/true >/dev/null 2>&1 || true
	[ ! -e "$dir/outside/made" ] || fine=0
	rm -rf "$dir"
	[ "$fine" -eq 1 ]
}

# bwrap_sufficient PATH: what wsiso itself asks of it
bwrap_sufficient() {
	local version
	[ -x "$1" ] && [ ! -u "$1" ] || return 1
	[[ $("$1" --help 2>&1) == *--overlay-src* ]] || return 1
	version=$(bwrap_version "$1")
	dpkg --compare-versions "$version" ge "$BWRAP_WANTED" && return
	dpkg --compare-versions "$version" ge 0.11.0 && bwrap_probe_mount_point "$1"
}

# Prints the path of the first bwrap that is good enough.
bwrap_find() {
	local path
	for path in /usr/bin/bwrap /usr/local/bin/bwrap; do
		if bwrap_sufficient "$path"; then
			printf '%s\n' "$path"
			return
		fi
	done
	return 1
}

# The distribution's own package where it is new enough, else a build from the source
# package of a newer suite. Debian 12 has 0.8.0, Debian 13 has what is needed.
bwrap_ensure() {
	local path candidate
	if path=$(bwrap_find); then
		say "using $path, version $(bwrap_version "$path")"
		return
	fi
	package_known bubblewrap || apt_update
	candidate=$(apt-cache policy bubblewrap | awk '$1 == "Candidate:" { print $2 }')
	if dpkg --compare-versions "${candidate:-0}" ge "$BWRAP_WANTED"; then
		install_packages bubblewrap
	else
		bwrap_build
	fi
	path=$(bwrap_find) || die "bwrap was installed and is still not good enough:" \
		"/usr/bin/bwrap $(bwrap_version /usr/bin/bwrap)," \
		"/usr/local/bin/bwrap $(bwrap_version /usr/local/bin/bwrap)"
	say "installed $path, version $(bwrap_version "$path")"
}

# The address of the Debian archive that this machine's own apt sources name.
debian_site() {
	local codename
	codename=$(os_release VERSION_CODENAME)
	# shellcheck disable=SC2016 # for apt-get to expand
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' \
		'Label: Debian' "Codename: $codename" | sed -n 1p
}

# apt_private DIR COMMAND...: apt-get with its own list of sources and its own state, so
# that nothing of the system's changes
apt_private() {
	local dir=$1
	shift
	apt-get -q -o Acquire::Languages=none \
		-o Dir::Etc::SourceList="$dir/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" "$@"
}

# bwrap_source_uris DIR SITE SUITE: lines of ADDRESS NAME SIZE SHA256:... for the source
# package of SUITE, if that is new enough
bwrap_source_uris() {
	local dir=$1 uris version keys=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	echo "deb-src [signed-by=$keys] $2 $3 main" >"$dir/sources.list"
	apt_private "$dir" update >&2 || return 1
	uris=$(apt_private "$dir" --print-uris source bubblewrap) || return 1
	version=$(sed -n "s/^'.* bubblewrap_\(.*\)\.orig\.tar\..*/\1/p" <<<"$uris")
	dpkg --compare-versions "${version:-0}" ge "$BWRAP_WANTED" || return 1
	grep "^'" <<<"$uris" | tr -d "'"
}

# bwrap_fetch DIR: the upstream source, its digest checked, as DIR/bubblewrap.tar
bwrap_fetch() {
	local dir=$1 site suite uris uri digest
	site=$(debian_site)
	[ -n "$site" ] || {
		apt_update
		site=$(debian_site)
	}
	[ -n "$site" ] || die "apt's sources do not name the Debian archive"
	for suite in trixie forky sid; do
		uris=$(bwrap_source_uris "$dir/$suite" "$site" "$suite") || continue
		read -r uri _ _ digest < <(grep '\.orig\.tar\.[a-z0-9]* ' <<<"$uris")
		say "fetching the source of bubblewrap from $suite"
		/usr/lib/apt/apt-helper download-file \
			"$uri" "$dir/bubblewrap.tar" "$digest" >&2
		return
	done
	die "no suite of $site has bubblewrap $BWRAP_WANTED or later"
}

bwrap_compile() {
	meson setup "$1/build" "$1/src" --prefix=/usr/local --buildtype=release \
		-Dman=disabled -Dtests=false -Dselinux=disabled \
		-Dbash_completion=disabled -Dzsh_completion=disabled &&
		meson compile -C "$1/build"
}

# Builds bwrap as the calling user and installs it into /usr/local.
bwrap_build() {
	local dir
	install_packages "${BWRAP_BUILD_PACKAGES[@]}"
	dir=$(mktemp -d /var/tmp/wsiso-bwrap.XXXXXX)
	chmod 755 "$dir" # apt reads its lists as a user of its own
	bwrap_fetch "$dir"
	mkdir "$dir/src"
	tar -x -f "$dir/bubblewrap.tar" -C "$dir/src" --strip-components=1
	say "building bubblewrap"
	bwrap_compile "$dir" >"$dir/log" 2>&1 ||
		die "bubblewrap did not build; see $dir/log"
	as_root install -D -m 755 "$dir/build/bwrap" /usr/local/bin/bwrap
	rm -rf "$dir"
}

# ---- the ordinary user ----

# ordinary_user NAME: who runs what must not be root. The caller; behind sudo, whoever
# called that; for root itself NAME, made if need be. Sets RUN_USER.
ordinary_user() {
	if [ "$(id -u)" -ne 0 ]; then
		RUN_USER=$(id -un)
	elif [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
		RUN_USER=$SUDO_USER
	else
		RUN_USER=$1
		id -u "$1" >/dev/null 2>&1 || {
			say "making the ordinary user '$1': wsiso runs nothing as root"
			useradd --create-home --shell /bin/bash "$1"
		}
	fi
}

# as_user NAME=VALUE... COMMAND...: as RUN_USER, in an environment of its own, with what it
# takes to reach the network here
as_user() {
	local home name
	for name in http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE; do
		[ -z "${!name:-}" ] || set -- "$name=${!name}" "$@"
	done
	home=$(getent passwd "$RUN_USER" | cut -d: -f6)
	set -- env -i HOME="$home" USER="$RUN_USER" LOGNAME="$RUN_USER" SHELL=/bin/bash \
		PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "$@"
	if [ "$(id -un)" = "$RUN_USER" ]; then
		"$@"
	else
		runuser -u "$RUN_USER" -- "$@"
	fi
}

# User namespaces may be forbidden where everything else is right.
need_user_namespaces() {
	local bwrap
	bwrap=$(bwrap_find)
	as_user "$bwrap" --unshare-user --ro-bind / / -- /bin/true &>/dev/null ||
		die "'$RUN_USER' cannot make a user namespace with $bwrap. Look at" \
			"/proc/sys/user/max_user_namespaces and" \
			"/proc/sys/kernel/unprivileged_userns_clone (0 forbids it)," \
			"and at AppArmor; in a container, its runtime must allow it"
}

# ---- the build ----

# copy_source DIR: the files of this checkout, without what a build left in it
copy_source() {
	mkdir -p "$1"
	source_files | tar -C "$TOP" --null --no-recursion -T - -cf - |
		tar -C "$1" --no-same-owner -xf -
	chmod -R go+rX "$1"
}

# Git's list where this is a git checkout (whoever owns it), else all that is here.
source_files() { (
	cd "$TOP"
	if [ -e .git ] && command -v git >/dev/null; then
		git -c safe.directory="$TOP" ls-files -z -co --exclude-standard
	else
		find . -path ./_build -prune -o -type f -print0
	fi | while IFS= read -r -d '' file; do
		[ ! -e "$file" ] || printf '%s\0' "$file"
	done
); }

# build_and_install SOURCE BUILD PREFIX [CONFIGURE_OPTION...]: the log is BUILD/log
build_and_install() {
	local source=$1 build=$2 prefix=$3
	shift 3
	mkdir -p "$build"
	say "building in $build"
	{
		(cd "$source" && autoreconf -fi) &&
			(cd "$build" && "$source/configure" --prefix="$prefix" "$@") &&
			make -C "$build" -j"$(nproc)" &&
			make -C "$build" install
	} >"$build/log" 2>&1 || {
		tail -n 40 "$build/log" >&2
		die "the build failed; see $build/log"
	}
}
