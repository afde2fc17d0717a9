/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_NESTED_H
#define WS_CORE_NESTED_H

#include <stdbool.h>

/*
 * Is PROGRAM (a path or a name) one that makes namespaces or mounts, which "enforce"
 * refuses? By its name: what a shell or an agent starts inside nobody outside sees.
 */
bool ws_nested_sandbox(const char *program);

#endif
