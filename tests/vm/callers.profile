# SPDX-License-Identifier: Apache-2.0
# Who may call wsiso: an editor, say, with a profile that confines nothing, as Ubuntu has
# them, and a service that is confined, if only by little.

abi <abi/4.0>,

include <tunables/global>

profile wsiso-test-editor flags=(unconfined) {
  userns,
}

profile wsiso-test-service flags=(attach_disconnected,mediate_deleted) {
  allow capability,
  allow file rwlkm /{**,},
  allow network,
  allow unix,
  allow ptrace,
  allow signal,
  allow mqueue,
  allow io_uring,
  allow mount,
  allow umount,
  allow pivot_root,
  allow dbus,
  allow change_profile,
  audit deny userns,

  allow /** ix,
  allow /usr/bin/bwrap px -> bwrap,
}
