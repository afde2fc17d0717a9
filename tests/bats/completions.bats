#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load helpers

# Completions are made from the program under test, and tried in shells that run on a
# terminal and get a TAB.
setup_file() {
	local comp=$BATS_FILE_TMPDIR
	"$SRCDIR/contrib/completions/generate" bash "$WSISO" >"$comp/wsiso.bash"
	"$SRCDIR/contrib/completions/generate" zsh "$WSISO" >"$comp/_wsiso"
	cat >"$comp/bashrc" <<-EOF
		PATH='$(dirname "$WSISO")':\$PATH
		PS1='READY> '
		bind 'set enable-bracketed-paste off'
		bind -x '"\C-g": printf "\nLINE<%s>\n" "\$READLINE_LINE"'
		. '$comp/wsiso.bash'
	EOF
	cat >"$comp/.zshrc" <<-EOF
		PATH='$(dirname "$WSISO")':\$PATH
		PS1='READY> '
		show() { print -r -- "LINE<\$BUFFER>"; }
		zle -N show
		bindkey '^G' show
		fpath=('$comp' \$fpath)
		zstyle ':completion:*' insert-tab false
		zstyle ':completion:*' list-prompt ''
		unsetopt automenu
		autoload -Uz compinit
		compinit -u -d '$comp/dump'
	EOF
}

# after_tab SHELL LINE: what LINE becomes
after_tab() {
	case $1 in
	bash) set -- "$2" bash --noprofile --rcfile "$BATS_FILE_TMPDIR/bashrc" -i ;;
	zsh) set -- "$2" env ZDOTDIR="$BATS_FILE_TMPDIR" zsh -d -i ;;
	esac
	(cd "$T" && WSISO_ROOT=$ROOT timeout 60 \
		"$PYTHON" "$HELPERS/programs/tab.py" "$@") 3>&-
}

# becomes SHELL LINE RESULT
becomes() {
	local got
	got=$(after_tab "$1" "$2")
	[ "$got" = "$3" ] || {
		echo "$1: '$2' became '$got', not '$3'"
		return 1
	}
}

# All that both shells must do, whatever stands before the command.
completes() {
	local shell=$1
	becomes "$shell" 'wsiso upd' 'wsiso update '
	becomes "$shell" 'wsiso --log-f' 'wsiso --log-format '
	becomes "$shell" 'wsiso --log-level debug upd' 'wsiso --log-level debug update '
	becomes "$shell" 'wsiso update --net' 'wsiso update --network '
	becomes "$shell" 'wsiso update --network iso' 'wsiso update --network isolate '
	becomes "$shell" 'wsiso exec --time' 'wsiso exec --timeout '
	becomes "$shell" 'wsiso list --qu' 'wsiso list --quiet '
	becomes "$shell" 'wsiso snapshot rem' 'wsiso snapshot remove '
}

@test "commands, options and their values are completed in bash" {
	need_program bash
	completes bash
}

@test "commands, options and their values are completed in zsh" {
	need_program zsh
	completes zsh
}

completes_sessions() {
	local shell=$1 key
	key=$(ws snapshot list -q)
	becomes "$shell" 'wsiso state first' 'wsiso state first-one '
	becomes "$shell" 'wsiso stop -t 3 first' 'wsiso stop -t 3 first-one '
	becomes "$shell" 'wsiso stop first-one sec' 'wsiso stop first-one second '
	becomes "$shell" 'wsiso exec --timeout 3 sec' 'wsiso exec --timeout 3 second '
	becomes "$shell" "wsiso --root $ROOT exec sec" "wsiso --root $ROOT exec second "
	becomes "$shell" 'wsiso logs second wor' 'wsiso logs second worker '
	becomes "$shell" 'wsiso kill second --exec wor' 'wsiso kill second --exec worker '
	becomes "$shell" 'wsiso kill second WIN' 'wsiso kill second WINCH '
	becomes "$shell" 'wsiso state nobody' 'wsiso state nobody'
	becomes "$shell" "wsiso snapshot remove ${key:0:4}" "wsiso snapshot remove $key "
}

@test "sessions and their execs are completed in bash and zsh" {
	need_program bash zsh
	new_session first-one
	new_session second
	ws exec second --exec-id worker -- true
	completes_sessions bash
	completes_sessions zsh
}

completes_files() {
	local shell=$1
	becomes "$shell" 'wsiso create new --spec ./a-sp' 'wsiso create new --spec ./a-spec.json '
	becomes "$shell" 'wsiso --root ./a-fo' 'wsiso --root ./a-folder/'
	becomes "$shell" 'wsiso exec some ./a-sp' 'wsiso exec some ./a-spec.json '
	becomes "$shell" 'wsiso exec some -- ./a-sp' 'wsiso exec some -- ./a-spec.json '
}

@test "files are completed where a file is meant, and after exec's session" {
	need_program bash zsh
	echo '{}' >"$T/a-spec.json"
	chmod 755 "$T/a-spec.json"
	mkdir "$T/a-folder"
	completes_files bash
	completes_files zsh
}

@test "the payload of exec is completed as a command line of its own" {
	need_program bash zsh git
	becomes bash 'wsiso exec some -- mkfif' 'wsiso exec some -- mkfifo '
	becomes zsh 'wsiso exec some -- mkfif' 'wsiso exec some -- mkfifo '
	# an option there is not ours
	becomes bash 'wsiso exec some -- git --time' 'wsiso exec some -- git --time'
	becomes bash 'wsiso exec some git --time' 'wsiso exec some git --time'
}

@test "every command and every option of the help is in both completions" {
	local command option
	for command in $(ws --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
		grep -q "($command)" "$BATS_FILE_TMPDIR/_wsiso"
		grep -q "'$command') echo" "$BATS_FILE_TMPDIR/wsiso.bash"
		for option in $(ws "$command" --help |
			sed -n 's/^ *\(-., \)\?\(--[a-z-]*\).*/\2/p'); do
			grep "'$command') echo" "$BATS_FILE_TMPDIR/wsiso.bash" | grep -q -e "$option\b"
			sed -n "/($command)/,/;;/p" "$BATS_FILE_TMPDIR/_wsiso" | grep -q -e "$option\b"
		done
	done
}

@test "generate refuses an unknown shell and a program that does not answer" {
	expect_status 2 "$SRCDIR/contrib/completions/generate" fish "$WSISO" 2>/dev/null
	refute "$SRCDIR/contrib/completions/generate" bash /bin/false
	refute "$SRCDIR/contrib/completions/generate" zsh "$T/not-there" 2>/dev/null
}
