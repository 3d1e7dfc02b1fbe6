"""What is Node.js's own about its client library: the program of its README, its types, its payloads, and `io()`, the
surface of the Socket.IO client. The scenarios of all languages are those of test_clients.py."""

import json
import os
import re
import shutil

import pytest

import client_loop
from programs import ROOT
from users import ALICE, as_user

NODE = ROOT / "clients" / "node"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")


@pytest.fixture
def run(start_command, folder):
    """Runs a module that imports gatewayd to its end: `await run(daemon, text, …arguments)` returns its lines."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "gatewayd").symlink_to(NODE)

    async def run(daemon, text, *arguments):
        module = folder / "program.mjs"
        module.write_text(text)
        environment = {"GATEWAYD_SOCKET": daemon.socket} if daemon else {}
        command = await start_command("node", module, *arguments, env=environment)
        outcome = await command.outcome()
        assert outcome.code == 0, outcome
        assert not outcome.err, outcome
        return outcome.out.splitlines()

    return run


async def test_the_quick_start_of_the_readme_does_what_it_shows(daemons, server, run):
    program = re.search(r"```js\n(.*?)```", (NODE / "README.md").read_text(), re.DOTALL)[1]
    program = program.replace("http://localhost:3000", server.url)
    assert await run(await daemons(), program) == ["said hello", "the server answered how are you?"]


async def test_the_declarations_name_what_is_exported(run):
    for module, name in (("index", "gatewayd"), ("socketio", "gatewayd/socketio")):
        text = (NODE / f"{module}.d.ts").read_text()
        declared = set(re.findall(r"^export (?:class|function|const) (\w+)", text, re.MULTILINE))
        for names in re.findall(r"^export \{ (.*?) \}", text, re.MULTILINE):
            declared |= {one.split(" as ")[-1] for one in names.split(", ")}
        if "export default" in text:
            declared.add("default")
        (exported,) = await run(None, f'import * as all from "{name}"; console.log(Object.keys(all).join(" "));')
        assert set(exported.split()) == declared


async def test_payloads_are_what_the_protocol_says(run):
    assert await run(None, (NODE / "tests" / "payload.js").read_text().replace("../lib/", f"{NODE}/lib/")) == ["ok"]


async def test_what_is_nested_too_deeply_is_refused_before_it_is_sent(daemons, chat, run):
    """The daemon could not tell which call a line that it cannot read belongs to, and all of the link would end."""
    (line,) = await run(await daemons(), '''
        import { Gateway } from "gatewayd";
        const [gateway, url] = [new Gateway(), process.argv[2]];
        const nested = (levels) => (levels === 0 ? 1 : [nested(levels - 1)]);
        const held = gateway.request(url, "hold", ["held"]).catch((error) => error.type);
        await gateway.call("ping");
        const said = (options) => gateway.subscribe(url, options).ready;
        const ends = await Promise.allSettled([
          gateway.request(url, "echo", [nested(62)]), gateway.send(url, "echo", [], { kwargs: { a: nested(62) } }),
          gateway.state({ url, auth: { a: nested(62) } }), gateway.call("status", { a: nested(63) }),
          said({ enter: [["join", nested(60)]] }), said({ enter: [{ event: "join", kwargs: { a: nested(60) } }] }),
          said({ enter: [["join"]], leave: [["leave", nested(60)]] }),
        ]);
        const { args } = await gateway.request(url, "echo", [nested(61)]);
        const isHeld = await Promise.race([held, "held"]);
        console.log(JSON.stringify([ends.map(({ reason }) => reason?.type), args, isHeld]));
        gateway.close();''', chat.url)
    ends, args, held = json.loads(line)
    assert ends == ["InvalidParams"] * 7 and str(args).count("[") == 62 and held == "held"


async def test_a_text_is_the_name_of_one_event(daemons, chat, run):
    lines = await run(await daemons({"upstream": {"chat": {"url": chat.url, "keep": "always"}}}), '''
        import { Gateway } from "gatewayd";
        const gateway = new Gateway();
        const all = gateway.subscribe("chat");
        const said = gateway.subscribe("chat", "said");
        await gateway.wait("chat");
        await said.ready;
        await gateway.request("chat", "say", ["first"]);
        console.log((await said.next()).value.args[0], (await all.next()).value.event);
        for (const [names, options] of [["said"], [["said"]], ["nothing", { limit: 1 }], [{ limit: 1 }]]) {
          console.log((await gateway.history("chat", names, options)).events.length);
        }
        all.close();
        said.close();''')
    assert lines == ["first said", "1", "1", "0", "1"]


async def test_what_is_entered_may_hold_bytes_also_among_its_keyword_arguments(run):
    assert await run(None, f'''
        import {{ Subscription }} from "{NODE}/lib/subscription.js";
        const [a, b] = [Buffer.from("a"), Buffer.from("b")];
        const port = {{ submit: (method, {{ enter }}) => console.log(JSON.stringify(enter)) }};
        new Subscription("n1", {{}}, undefined, {{ enter: [{{ event: "join", args: [a], kwargs: {{ b }} }}] }}, port).up();''') == [
            '[{"event":"join","args":[{"$bin":"YQ=="}],"kwargs":{"b":{"$bin":"Yg=="}}}]']


async def test_a_daemon_that_only_ever_drains_ends_a_call_in_time(daemons, chat, run):
    lines = await run(await daemons(), '''
        import { Gateway } from "gatewayd";
        const [gateway, url] = [new Gateway(), process.argv[2]];
        await gateway.call("drain", { timeout: 0 });
        await gateway.request(url, "one", [1], { connectTimeout: 300 }).catch((error) => console.log(error.type));
        gateway.close();''', chat.url)
    assert lines == ["Draining"]


async def test_a_wait_outlives_one_daemon_that_stops_after_the_other(folder, run):
    (line,) = await run(None, '''
        import { createServer } from "node:net";
        import { createInterface } from "node:readline";
        import { Gateway } from "gatewayd";
        const path = process.argv[2];
        let asked = 0;
        const answers = [
          (refuse) => refuse(),
          (refuse, socket) => socket.destroy(),
          // The second daemon works for longer than one that is about to stop is waited for.
          (refuse) => setTimeout(refuse, 2_100),
          (refuse, socket, put) => put({ result: { state: "connected" } }),
        ];
        const server = createServer((socket) => createInterface({ input: socket }).on("line", (line) => {
          const { id, method } = JSON.parse(line);
          const put = (answer) => socket.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
          const refuse = () => put({ error: { code: -32010, message: "", data: { type: "Draining", retry: true } } });
          if (method === "hello") put({ result: { instance: "i", limits: { inflight: 9 } } });
          else answers[asked++](refuse, socket, put);
        })).listen(path);
        server.unref();
        const gateway = new Gateway({ socket: path, connectTimeout: 2_000 });
        console.log((await gateway.wait("chat")).state, asked);
        gateway.close();''', folder / "pretended")
    assert line == "connected 4"


async def test_the_daemon_is_looked_for_where_gatewayctl_looks(run):
    assert await run(None, f'''
        import {{ socketPath }} from "{NODE}/lib/connection.js";
        const exists = (path) => ["/run/user/1000/gatewayd.sock", "/run/user/0/gatewayd.sock", "/own/gatewayd.sock"].includes(path);
        const own = {{ XDG_RUNTIME_DIR: "/own" }};
        for (const [option, environment, user] of [
          [null, {{}}, 1000], [null, {{}}, 1001], [null, {{}}, 0], [null, own, 1000], [null, {{ XDG_RUNTIME_DIR: "/not" }}, 1000],
          [null, {{ ...own, GATEWAYD_SOCKET: "/named" }}, 1000], ["/given", {{ GATEWAYD_SOCKET: "/named" }}, 1000],
        ]) console.log(socketPath(option, environment, user, exists));''') == [
            "/run/user/1000/gatewayd.sock", "/run/gatewayd.sock", "/run/gatewayd.sock", "/own/gatewayd.sock",
            "/run/gatewayd.sock", "/named", "/given"]


async def test_what_answers_in_parts_is_heard_on_the_way(daemons, chat, run):
    (line,) = await run(await daemons(), '''
        import { Gateway } from "gatewayd";
        const steps = [];
        const onProgress = ({ args: [{ step }] }) => steps.push(step);
        const result = await new Gateway().call("doctor", { url: process.argv[2] }, { timeout: 30_000, onProgress });
        console.log(JSON.stringify([result.verdict, steps, result.steps.map(({ step }) => step)]));''', chat.url)
    verdict, told, all_of_them = json.loads(line)
    assert verdict == "ok" and "tcp" in told and told == all_of_them


async def test_who_is_kicked_stays_away(daemons, chat, run):
    lines = await run(await daemons(), '''
        import { Gateway, Kicked } from "gatewayd";
        const [gateway, other, url] = [new Gateway({ client: "victim" }), new Gateway(), process.argv[2]];
        const subscription = gateway.subscribe(url);
        await subscription.ready;
        const { clients } = await other.call("clients.list");
        await other.call("clients.kick", { client: clients.find(({ name }) => name === "victim").client });
        await subscription.next().catch((error) => console.log(error instanceof Kicked, error.retry));
        await gateway.call("ping").catch((error) => console.log(error.type));
    ''', chat.url)
    assert lines == ["true false", "Kicked"]


@pytest.mark.root
async def test_a_socket_that_is_closed_to_the_user_is_said_at_once(daemons, start_command, folder):
    daemon = await daemons({"socket": {"mode": "0600"}})
    module = folder / "program.mjs"
    module.write_text(f'''
        import {{ Gateway, SocketForbidden }} from "{NODE}/index.js";
        const gateway = new Gateway({{ connectTimeout: Infinity }});
        await gateway.call("ping").catch((error) => console.log(error instanceof SocketForbidden, error.advice !== null));
        try {{ for await (const event of gateway.subscribe("chat")); }} catch (error) {{ console.log(error.type); }}
    ''')
    command = await start_command(*as_user(ALICE), "node", module, env={"GATEWAYD_SOCKET": daemon.socket})
    outcome = await command.outcome()
    assert outcome.out == "true true\nSocketForbidden\n", outcome


async def test_one_signal_ends_many_calls_and_subscriptions(daemons, chat, run):
    (line,) = await run(await daemons(), '''
        import { Gateway } from "gatewayd";
        const [gateway, url, end] = [new Gateway(), process.argv[2], new AbortController()];
        const options = { signal: end.signal };
        const calls = Array.from({ length: 300 }, (_, number) => gateway.request(url, "hold", [number], options));
        const stream = async () => { for await (const event of gateway.subscribe(url, options)); };
        calls.push(...Array.from({ length: 20 }, stream));
        setTimeout(() => end.abort(new Error("the end")), 100);
        const ends = await Promise.allSettled(calls);
        console.log(JSON.stringify([...new Set(ends.map(({ reason }) => reason.message))]));
    ''', chat.url)
    assert json.loads(line) == ["the end"]


# The surface of the Socket.IO client


class Script:
    """A program that runs beside the test; `sees` takes its next line, which is JSON."""

    def __init__(self, command):
        self.command = command

    async def sees(self, *expected):
        for one in expected:
            line = json.loads(await self.command.line())
            assert line == one, (line, expected)

    async def skips_to(self, expected):
        while json.loads(await self.command.line()) != expected:
            pass

    def say(self, word):
        self.command.process.stdin.write(f"{word}\n".encode())


@pytest.fixture
def start_script(start_command, folder):
    """Starts a program in which `io`, `tell`, and `heard(word)`, which waits for the test, are there."""

    async def start(daemon, text, *arguments, wrapper=()):
        module = folder / f"script{len(list(folder.glob('script*')))}.mjs"
        module.write_text(f'''
            import {{ io, Manager }} from "{NODE}/socketio.js";
            import {{ createInterface }} from "node:readline";
            const tell = (...words) => console.log(JSON.stringify(words));
            const lines = createInterface({{ input: process.stdin }});
            const heard = (word) => new Promise((resolve) => lines.on("line", (line) => line === word && resolve()));
            const url = process.argv[2];
            {text}''')
        return Script(await start_command(
            *wrapper, "node", module, *arguments, env={"GATEWAYD_SOCKET": daemon.socket}, stdin=True))

    return start


LIFE = '''
    socket.on("connect", () => tell("connect", socket.connected, socket.active, typeof socket.id));
    socket.on("disconnect", (reason) => tell("disconnect", reason, socket.connected, socket.active));
    socket.on("connect_error", (error) => tell("connect_error", error.message, socket.active));
'''


async def test_io_sends_hears_and_is_answered(daemons, server, start_script):
    script = await start_script(await daemons(), f'''
        const socket = io(url);
        {LIFE}
        socket.onAny((event, ...args) => tell("any", event, args.length));
        socket.onAnyOutgoing((event) => tell("outgoing", event));
        socket.on("said", (text, bytes) => tell("said", text, [...bytes]));
        const first = socket.emitWithAck("one", "first");
        await new Promise((resolve) => socket.once("connect", resolve));
        tell("first", await first);
        await new Promise((resolve) => socket.emit("echo", 1, {{ a: null }}, (...answer) => resolve(tell("echo", answer))));
        tell("with ack", await socket.emitWithAck("one", 9007199254740991));
        socket.once("said", () => tell("once"));
        socket.emit("say", "hello", new Uint8Array([1, 2]));
        await new Promise((resolve) => socket.timeout(100).emit("hold", "a", (error) => resolve(tell(error.message))));
        await socket.timeout(100).emitWithAck("hold", "b").catch((error) => tell(error.message));
        const held = socket.emitWithAck("hold", "c").catch((error) => tell(error.message));
        try {{ socket.emit("connect"); }} catch (error) {{ tell(error.message); }}
        socket.disconnect();
        await held;
        tell(socket.connected, socket.active, socket.disconnected);
        lines.close();
        process.stdin.destroy();
    ''', server.url)
    await script.sees(
        ["outgoing", "one"], ["connect", True, True, "string"], ["first", "first"], ["outgoing", "echo"],
        ["echo", [1, {"a": None}]], ["outgoing", "one"], ["with ack", 9007199254740991],
        ["outgoing", "say"], ["outgoing", "hold"], ["any", "said", 2], ["said", "hello", [1, 2]], ["once"],
        ["operation has timed out"], ["outgoing", "hold"], ["operation has timed out"],
        ["outgoing", "hold"], ['"connect" is a reserved event name'],
        ["disconnect", "io client disconnect", False, False], ["socket has been disconnected"], [False, False, True])
    assert (await script.command.outcome()).code == 0


async def test_io_tells_losses_of_the_server_and_of_the_daemon(daemons, chat, start_script):
    daemon = await daemons()
    script = await start_script(daemon, f'''
        const socket = io(url);
        {LIFE}
        socket.on("said", (text) => tell("said", text));
        await heard("down");
        socket.volatile.emit("one", "dropped");
        socket.emit("one", "kept");
    ''', chat.url)
    up = ["connect", True, True, "string"]
    await script.sees(up)
    await chat.stop()
    await script.sees(["disconnect", "transport close", False, True])
    script.say("down")
    await daemon.until(lambda status: status["connections"][0]["queue"]["count"] == 1, "the send to wait")
    await chat.start()
    await script.skips_to(up)
    assert [one["args"] for one in await chat.received(1, "one")] == [["kept"]]
    await daemon.crash()
    await script.sees(["disconnect", "transport close", False, True])
    await daemon.start()
    await script.skips_to(up)
    await chat.emit("said", "again")
    await script.sees(["said", "again"])
    await chat.kick()
    await script.sees(["disconnect", "io server disconnect", False, False])


async def test_io_answers_the_server_and_has_namespaces_and_auth(daemons, server, start_script):
    daemon = await daemons()
    script = await start_script(daemon, f'''
        const socket = io(url + "/chat");
        {LIFE}
        socket.on("confirm", (number, answer) => answer("yes", number));
        await heard("auth");
        const manager = new Manager(url);
        const other = manager.socket("/auth", {{ auth: (tell) => tell({{ token: "let-me-in" }}) }});
        other.on("connect", () => tell("admitted"));
    ''', server.url)
    await script.sees(["connect", True, True, "string"])
    assert await server.ask("confirm", 7, namespace="/chat") == ["yes", 7]
    script.say("auth")
    if server.line == "eio4":
        await script.sees(["admitted"])


async def test_io_tells_a_refusal_in_the_words_of_the_server_and_stays_away(daemons, chat, start_script):
    script = await start_script(await daemons(), f'''
        const socket = io(url + "/refused", {{ autoConnect: false }});
        {LIFE}
        tell(socket.active);
        socket.connect();
        socket.on("connect_error", () => {{ lines.close(); process.stdin.destroy(); }});
    ''', chat.url)
    await script.sees([False], ["connect_error", "this room is closed", False])
    # A refused socket keeps no process.
    assert (await script.command.outcome()).code == 0


async def test_io_keeps_no_process_that_has_left_while_there_was_no_daemon(start_script, daemons):
    daemon = await daemons(start=False)
    script = await start_script(daemon, '''
        const socket = io("http://localhost:1");
        socket.emit("one", "is lost with the program");
        socket.emit("one", "too", () => tell("never"));
        setTimeout(() => { socket.disconnect(); lines.close(); process.stdin.destroy(); }, 50);
    ''')
    outcome = await script.command.outcome()
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


async def test_io_says_what_only_the_configuration_can(daemons, chat, start_script):
    daemon = await daemons({"upstream": {"chat": {"url": chat.url}}})
    script = await start_script(daemon, f'''
        const ofLinks = [{{ agent: {{}} }}, {{ cert: "a text" }}];
        const ofUrls = [{{ path: "/x" }}, {{ extraHeaders: {{}} }}, {{ query: {{}} }}, {{ rejectUnauthorized: false }}];
        for (const options of [...ofLinks, ...ofUrls.map((one) => ({{ ...one, upstream: "chat" }}))]) {{
          try {{ io("/", options); }} catch (error) {{ tell(error.message.includes('io({{ upstream: "NAME" }})')); }}
        }}
        try {{ io(); }} catch (error) {{ tell(error.name); }}
        const socket = io("/chat", {{ upstream: "chat", transports: ["websocket"] }});
        {LIFE}
    ''', chat.url)
    await script.sees(*[[True]] * 6, ["TypeError"], ["connect", True, True, "string"])
    await chat.present(1, "/chat")


async def test_io_tells_the_server_path_headers_and_query_in_every_namespace(daemons, servers, start_script):
    server = await servers("eio4", "--path", "chat")
    script = await start_script(await daemons(), f"""
        const extraHeaders = {{ "X-Team": "red", "X-Shift": 3 }};
        const options = {{ path: "/chat", extraHeaders, query: {{ room: "blue room", size: 2 }} }};
        const manager = new Manager(url, options);
        for (const socket of [manager.socket("/"), manager.socket("/chat"), io(url, options)]) {{ {LIFE} }}
    """, server.url)
    await script.sees(*[["connect", True, True, "string"]] * 3)
    joined = await server.joined(2)
    assert {one["namespace"] for one in joined} == {"/", "/chat"} and len(joined) == 2
    for one in joined:
        assert (one["headers"]["x_team"], one["headers"]["x_shift"]) == ("red", "3")
        assert "room=blue room" in one["query"] and "size=2" in one["query"]
    assert (await server.counters())["links_ever"] == 1


async def test_io_takes_certificates_to_trust_or_any(daemons, servers, authority, start_script):
    server = await servers("eio4", "--cert", authority / "server.pem", "--key", authority / "server.key")
    script = await start_script(await daemons(), f"""
        const {{ readFileSync }} = await import("node:fs");
        const ca = readFileSync(process.argv[3]);
        for (const options of [{{ ca }}, {{ ca: [ca.toString()] }}, {{ rejectUnauthorized: false }}, {{}}]) {{
          const socket = io(url, {{ ...options, reconnection: false }});
          await new Promise((resolve) => {{
            socket.on("connect", () => resolve(tell("connect")));
            socket.on("connect_error", ({{ reason }}) => resolve(tell("connect_error", reason)));
          }});
        }}
    """, server.url.replace("http:", "https:"), authority / "ca.pem")
    await script.sees(["connect"], ["connect"], ["connect"], ["connect_error", "tls"])


async def test_io_tells_what_the_daemon_does_not_take_as_a_connect_error(daemons, chat, start_script):
    script = await start_script(await daemons(), f"""
        const socket = io(url, {{ extraHeaders: {{ Host: "a" }}, reconnection: false }});
        socket.on("connect_error", ({{ message }}) => tell(message));
    """, chat.url)
    await script.sees(["options.headers.Host is a header that the connection itself sets."])


PROGRAMS = sorted((NODE / "tests" / "programs").glob("*.js"))
REFERENCE = os.environ.get("SOCKETIO_CLIENT")


async def prints(start_command, folder, daemon, program, client, server, flags=()):
    """What a program prints whose `socket.io-client` is a module of that text, and what the server got of it."""
    package = folder / "node_modules" / "socket.io-client"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "exports": "./index.js"}')
    (package / "index.js").write_text(client)
    (folder / "program.mjs").write_text(program.read_text())
    command = await start_command(
        "node", *flags, folder / "program.mjs", server.url, env={"GATEWAYD_SOCKET": daemon.socket})
    outcome = await command.outcome()
    assert outcome.code == 0 and not outcome.err, outcome
    return outcome.out


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
async def test_programs_for_the_socket_io_client_print_the_same(program, daemons, servers, start_command, folder):
    """The texts beside the programs are what Socket.IO's own client 4.8.1 let them print. With its `socket.io.min.js` in
    $SOCKETIO_CLIENT, and a node that has a WebSocket (20.10 or later), they are compared with it anew."""
    recorded = program.with_suffix(".txt")
    daemon = await daemons()
    if REFERENCE:
        client = (f'import {{ createRequire }} from "node:module"; const io = createRequire("{REFERENCE}")("{REFERENCE}");'
                  "export { io }; export const { Manager, Socket } = io; export default io;")
        printed = await prints(start_command, folder / "reference", daemon, program, client, await servers("eio4"),
                               ("--experimental-websocket", "--no-warnings"))
        assert printed == recorded.read_text()
    client = f'export * from "{NODE}/socketio.js"; export {{ default }} from "{NODE}/socketio.js";'
    assert await prints(
        start_command, folder / "gateway", daemon, program, client, await servers("eio4")) == recorded.read_text()


@pytest.mark.root
async def test_a_program_that_may_only_listen_connects_all_the_same(daemons, chat, start_script):
    daemon = await daemons({"socket": {"mode": "0666"}, "upstream": {"chat": {"url": chat.url}},
                            "access": [{"upstream": ["chat"], "user": ALICE, "allow": ["subscribe"]}]})
    script = await start_script(daemon, f'''
        const socket = io({{ upstream: "chat" }});
        {LIFE}
        socket.on("said", (text) => tell("said", text));
    ''', wrapper=as_user(ALICE))
    await script.sees(["connect", True, True, "string"])
    await chat.emit("said", "hi")
    await script.sees(["said", "hi"])


async def test_programs_lose_and_double_nothing_when_the_daemon_is_restarted_or_killed(folder):
    result = await client_loop.rounds(folder, 8, tell=print, languages=["node"])
    print(result)
    result.check()


async def test_a_url_takes_what_the_configuration_would_say_of_it(daemons, servers, run):
    server = await servers("eio4", "--path", "chat")
    lines = await run(await daemons(), '''
        import { Gateway } from "gatewayd";
        const target = { url: process.argv[2], options: { path: "/chat/", headers: { "X-Team": "red" } } };
        const gateway = new Gateway();
        console.log(JSON.stringify(await gateway.request(target, "echo", [7])));
        gateway.close();''', server.url)
    assert lines == ['{"args":[7]}']
    assert (await server.joined())[0]["headers"]["x_team"] == "red"
