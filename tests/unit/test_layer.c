/* SPDX-License-Identifier: Apache-2.0 */
#include "core/layer.h"
#include "core/shared.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "core/snapshot.h"
#include "scratch.h"

static struct ws_root root = WS_ROOT_INIT;
static struct ws_err err = WS_ERR_INIT;

static void facts_of_private_names(void)
{
	char name[WS_LAYER_NAME_MAX], other[WS_LAYER_NAME_MAX];
	char longest[129];

	ws_layer_private_name("git", "s1", name);
	ws_layer_private_name("git", "s1", other);
	CHECK_INT(strlen(name), strlen("git-s1-") + 16);
	CHECK(strcmp(name, other) != 0);
	CHECK(ws_layer_is_private(name, "s1"));
	CHECK(!ws_layer_is_private(name, "s"));
	CHECK(!ws_layer_is_private(name, "s1-"));

	CHECK(ws_layer_is_private("git-a-0123456789abcdef", "a"));
	CHECK(!ws_layer_is_private("git-a-0123456789abcdef", "A"));
	CHECK(!ws_layer_is_private("git-a-0123456789abcde", "a"));
	CHECK(!ws_layer_is_private("git-a-0123456789abcdefa", "a"));
	CHECK(!ws_layer_is_private("git-a-0123456789abcdeg", "a"));
	CHECK(!ws_layer_is_private("git-a-", "a"));
	CHECK(!ws_layer_is_private("git-a", "a"));
	CHECK(!ws_layer_is_private("base-a-0123456789abcdef", "a"));
	/* "a" and "a-0123456789abcdef" are both ids */
	CHECK(!ws_layer_is_private("git-a-0123456789abcdef-fedcba9876543210", "a"));
	CHECK(ws_layer_is_private("git-a-0123456789abcdef-fedcba9876543210",
				  "a-0123456789abcdef"));

	memset(longest, 'x', 128);
	longest[128] = '\0';
	ws_layer_private_name("own", longest, name);
	CHECK(ws_layer_is_private(name, longest));
}

/* A scratch folder with one file in root/app. */
static void make_scratch(char name[64])
{
	int dir = -1;

	MUST(ws_root_scratch(&root, "test", name, &dir, &err) == 0);
	MUST(ws_layer_mkdir(dir, "root/app/sub", &err) == 0);
	MUST(ws_layer_write(dir, "root/app/sub/file", "text\n", &err) == 0);
	close(dir);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return fstatat(root.fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0
								    : st.st_mode & 07777;
}

static void facts_of_publishing(void)
{
	struct ws_layer_meta meta = { .version = WS_LAYER_VERSION,
				      .kind = (char[]){ "base" },
				      .repo = (char[]){ "app" },
				      .created = 5 };
	WS_AUTO(ws_layer_meta) struct ws_layer_meta back = { 0 };
	char first[64], second[64];

	make_scratch(first);
	CHECK(!ws_layer_exists(&root, "l1"));
	CHECK_INT(ws_layer_load(&root, "l1", &back, &err), -1);
	CHECK_INT(err.kind, WS_BASE_MISSING);
	CHECK_INT(ws_layer_publish(&root, first, "l1", &meta, NULL, &err), 0);
	CHECK(ws_layer_exists(&root, "l1"));
	/* whatever the umask, the sandbox's user can read it */
	CHECK_INT(mode_of("layers/l1/root/app/sub"), 0755);
	CHECK_INT(mode_of("layers/l1/root/app/sub/file"), 0644);
	CHECK_INT(ws_layer_load(&root, "l1", &back, &err), 0);
	CHECK_STR(back.kind, "base");
	CHECK_STR(back.repo, "app");
	CHECK_STR(back.source, NULL);
	CHECK_INT(back.created, 5);

	/* the first one stays */
	meta.created = 6;
	make_scratch(second);
	CHECK_INT(ws_layer_publish(&root, second, "l1", &meta, NULL, &err), 0);
	ws_layer_meta_release(&back);
	CHECK_INT(ws_layer_load(&root, "l1", &back, &err), 0);
	CHECK_INT(back.created, 5);

	CHECK_INT(ws_layer_discard(&root, "l1", &err), 0);
	CHECK_INT(ws_layer_discard(&root, "l1", &err), 0);
	CHECK(!ws_layer_exists(&root, "l1"));
}

static void put_layer(const char *name, const char *text)
{
	WS_AUTO_FREE char *dir = ws_format("layers/%s", name);
	WS_AUTO_FREE char *file = ws_format("%s/meta.json", dir);

	MUST(ws_mkdirs(root.fd, dir, 0700) == 0);
	scratch_write(root.fd, file, text);
}

static void facts_of_bad_records(void)
{
	WS_AUTO(ws_layer_meta) struct ws_layer_meta back = { 0 };

	put_layer("bad", "{");
	CHECK_INT(ws_layer_load(&root, "bad", &back, &err), -1);
	CHECK_INT(err.kind, WS_STATE_CORRUPT);
	put_layer("bad", "{\"version\": 1}");
	CHECK_INT(ws_layer_load(&root, "bad", &back, &err), -1);
	CHECK_INT(err.kind, WS_STATE_CORRUPT);
	put_layer("new", "{\"version\": 99, \"kind\": \"what\"}");
	CHECK_INT(ws_layer_load(&root, "new", &back, &err), -1);
	CHECK_INT(err.kind, WS_STATE_VERSION);
}

static void facts_of_discarding_private(void)
{
	const struct ws_session a = { .id = (char[]){ "a" } };

	put_layer("git-a-0123456789abcdef", "{}");
	put_layer("git-a-fedcba9876543210", "{}");
	put_layer("git-a-b-0123456789abcdef", "{}");
	CHECK_INT(ws_shared_discard(&root, &a, &err), 0);
	CHECK(!ws_layer_exists(&root, "git-a-0123456789abcdef"));
	CHECK(!ws_layer_exists(&root, "git-a-fedcba9876543210"));
	CHECK(ws_layer_exists(&root, "git-a-b-0123456789abcdef"));

	put_layer("own-a-0123456789abcdef", "{}");
	put_layer("base-a-0123456789abcdef", "{}");
	CHECK_INT(ws_shared_discard(&root, &a, &err), 0);
	CHECK(!ws_layer_exists(&root, "own-a-0123456789abcdef"));
	CHECK(ws_layer_exists(&root, "base-a-0123456789abcdef")); /* a shared one */
}

static void facts_of_snapshots(void)
{
	struct ws_snapshot s = { .version = WS_SNAPSHOT_VERSION,
				 .key = (char[]){ "k" },
				 .pool = (char[]){ "p.git" },
				 .building = true };
	WS_AUTO(ws_snapshot) struct ws_snapshot back = { 0 };

	CHECK_INT(ws_snapshot_load(&root, "k", &back, &err), 0);
	ws_strv_add(&s.layers, "base-k", "index-k", NULL);
	put_layer("base-k", "{}");
	put_layer("index-k", "{}");
	CHECK_INT(ws_snapshot_save(&root, &s, &err), 0);
	CHECK_INT(ws_snapshot_load(&root, "k", &back, &err), 0); /* only planned */

	s.building = false;
	CHECK_INT(ws_snapshot_save(&root, &s, &err), 0);
	CHECK_INT(ws_snapshot_load(&root, "k", &back, &err), 1);
	CHECK_INT(back.layers.n, 2);
	CHECK_STR(back.layers.v[1], "index-k");
	CHECK_INT(ws_snapshot_clear(&root, "k", &err), 0);
	CHECK(ws_layer_exists(&root, "base-k")); /* what is finished may be in use */
	ws_snapshot_release(&back);
	back = (struct ws_snapshot){ 0 };

	MUST(ws_layer_discard(&root, "index-k", &err) == 0);
	CHECK_INT(ws_snapshot_load(&root, "k", &back, &err), 0);
	s.building = true;
	CHECK_INT(ws_snapshot_save(&root, &s, &err), 0);
	CHECK_INT(ws_snapshot_clear(&root, "k", &err), 0);
	CHECK(!ws_layer_exists(&root, "base-k"));

	/* of a plan over another's layers only its own go */
	put_layer("base-k", "{}");
	put_layer("delta-k", "{}");
	ws_strv_clear(&s.layers);
	ws_strv_add(&s.layers, "base-k", "delta-k", NULL);
	ws_strv_add(&s.made, "delta-k", NULL);
	CHECK_INT(ws_snapshot_save(&root, &s, &err), 0);
	CHECK_INT(ws_snapshot_clear(&root, "k", &err), 0);
	CHECK(ws_layer_exists(&root, "base-k"));
	CHECK(!ws_layer_exists(&root, "delta-k"));
	MUST(ws_layer_discard(&root, "base-k", &err) == 0);
	ws_strv_release(&s.layers);
	ws_strv_release(&s.made);
}

static void facts_of_bad_manifests(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"version\": 1}",
		"rubbish",
		"{\"version\":1,\"key\":\"x\",\"pool\":\"../p\",\"layers\":[\"a\"]}",
		"{\"version\":1,\"key\":\"x\",\"pool\":\"p\",\"layers\":[\"../../sessions\"]}",
		"{\"version\":1,\"key\":\"x\",\"pool\":\"p\",\"building\":true,\"layers\":[\"..\"]}"
	};
	WS_AUTO(ws_snapshot) struct ws_snapshot back = { 0 };

	for (size_t i = 0; i < WS_ARRAY_SIZE(bad); i++) {
		scratch_write(root.fd, "snapshots/x.json", bad[i]);
		CHECK_INT(ws_snapshot_load(&root, "x", &back, &err), 0);
		CHECK_INT(ws_snapshot_clear(&root, "x", &err), 0);
	}
	scratch_write(root.fd, "snapshots/x.json", "{\"version\": 99}");
	CHECK_INT(ws_snapshot_load(&root, "x", &back, &err), -1);
	CHECK_INT(err.kind, WS_STATE_VERSION);
}

int main(void)
{
	int dir = scratch_make();
	int before;

	umask(077);
	MUST(fchmod(dir, 0700) == 0);
	MUST(ws_root_open(scratch_path, true, &root, &err) == 0);
	before = open_descriptors();
	facts_of_private_names();
	facts_of_publishing();
	facts_of_bad_records();
	facts_of_discarding_private();
	facts_of_snapshots();
	facts_of_bad_manifests();
	CHECK_INT(open_descriptors(), before);
	ws_root_release(&root);
	scratch_remove(dir);
	return CHECK_DONE();
}
