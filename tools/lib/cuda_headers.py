# SPDX-License-Identifier: Apache-2.0
"""Reads C declarations out of the CUDA headers.

The compiler's own preprocessor resolves the macros that rename entry points (cuMemAlloc is cuMemAlloc_v2, or a
per-thread twin), so what is parsed here is what a linker would see. Only the grammar that those headers use is
understood; whatever matches the wanted names and is not understood is an error, never skipped.
"""
import dataclasses
import pathlib
import re
import subprocess

# The few types of GL, EGL and VDPAU that CUDA's headers name, for machines without those headers.
SHIMS = pathlib.Path(__file__).resolve().parent / "cuda_shims"

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\.\.\.|::|\d[\w.]*|[^\s\w]')
PAIRS = {"(": ")", "[": "]", "{": "}"}
# Words before a declaration that say nothing about its type.
NOISE = {"extern", "__host__", "__device__", "__inline__", "inline", "static", "__cdecl", "__stdcall", "__extension__"}
# Words that cannot be the name of a parameter.
TYPE_WORDS = {"void", "char", "short", "int", "long", "float", "double", "unsigned", "signed", "const", "struct",
              "enum", "union", "volatile", "bool", "_Bool"}


class HeaderError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Parameter:
    type: str  # with "@" where the name goes if it is not at the end: "void (*@)(int)"
    name: str  # empty when the header gives none

    def declared_as(self, name):
        return self.type.replace("@", name) if "@" in self.type else f"{self.type} {name}"

    def passed_as(self):
        """The type as it counts in a function's type: `const` of the parameter itself does not."""
        return self.type.removeprefix("const ") if re.fullmatch(r"const [\w ]+", self.type) else self.type.replace("@", "")


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    result: str
    parameters: tuple

    def signature(self, resolve=lambda t: t):
        """Result and parameter types in one comparable text."""
        return resolve(self.result) + "(" + ", ".join(resolve(p.passed_as()) for p in self.parameters) + ")"


def preprocess(compiler, includes, include_dirs, defines, record_dependencies=None):
    """The text after `compiler -E` of a file that includes `includes`. Dependencies are added to the given set."""
    command = [*compiler, "-E", "-P", "-w", "-x", "c++", "-std=c++20"]
    command += [f"-I{d}" for d in include_dirs] + [f"-D{d}" for d in defines]
    source = "".join(f"#include <{h}>\n" for h in includes)
    if record_dependencies is not None:
        rule = run(command + ["-M", "-MT", "out", "-"], source)
        record_dependencies.update(rule.replace("\\\n", " ").split(":", 1)[1].split())
    return run(command + ["-"], source)


def run(command, source):
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HeaderError(f"{' '.join(command)} failed on\n{source}{done.stderr}")
    return done.stdout


SIZES = """
template <class T, class = void> struct size_or_0 { static constexpr unsigned long value = 0; };
template <class T> struct size_or_0<T, decltype(void(sizeof(T)))> { static constexpr unsigned long value = sizeof(T); };
"""


def sizes(compiler, includes, include_dirs, defines, types):
    """{type: its size in bytes}, 0 for an incomplete type. Read from assembly: nothing is run."""
    source = "".join(f"#include <{h}>\n" for h in includes) + SIZES
    source += "".join(f'extern "C" const unsigned long size_of_{t} = 1 + size_or_0<{t}>::value;\n' for t in types)
    command = [*compiler, "-S", "-O0", "-w", "-x", "c++", "-std=c++20", *(f"-I{d}" for d in include_dirs), *(f"-D{d}" for d in defines)]
    found = re.findall(r"^size_of_(\w+):\s+\.quad\s+(\d+)", run([*command, "-o", "-", "-"], source), re.MULTILINE)
    if len(found) != len(types):
        raise HeaderError(f"sizes of {len(types)} types asked, {len(found)} found")
    return {name: int(size) - 1 for name, size in found}  # counted from 1: an assembler text has no digits for 0


def statements(text):
    """Splits preprocessed C or C++ into top-level statements, each a list of tokens; bodies become the token '{}'."""
    tokens = TOKEN.findall(re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))  # pragmas survive preprocessing
    current, at = [], 0
    while at < len(tokens):
        token = tokens[at]
        if token == "{" and len(current) >= 2 and current[-2:] == ["extern", '"C"']:
            current, at = [], at + 1  # the contents count as top level
        elif token == "{":
            at = matching(tokens, at) + 1
            current.append("{}")
            if is_body(current):
                yield current
                current = []
        elif token == ";":
            if current:
                yield current
            current, at = [], at + 1
        elif token == "}":
            current, at = [], at + 1  # the end of an extern "C" block
        else:
            current.append(token)
            at += 1


def is_body(tokens):
    """Whether the '{}' at the end closes the statement. A semicolon after a struct is then an empty statement."""
    return tokens[0] != "typedef" and tokens[-2:-1] != ["="]


def matching(tokens, at):
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i] in PAIRS:
            depth += 1
        elif tokens[i] in PAIRS.values():
            depth -= 1
            if depth == 0:
                return i
    raise HeaderError(f"no closing bracket for {' '.join(tokens[at:at + 12])} …")


def without_attributes(tokens):
    kept, at = [], 0
    while at < len(tokens):
        if tokens[at] in ("__attribute__", "__declspec", "alignas") and tokens[at + 1:at + 2] == ["("]:
            at = matching(tokens, at + 1) + 1
        elif tokens[at] == "[" and tokens[at + 1:at + 2] == ["["]:
            at = matching(tokens, at) + 1
        else:
            kept.append(tokens[at])
            at += 1
    return kept


def spell(tokens):
    """Tokens as C text with one canonical spacing."""
    text = " ".join(tokens)
    text = re.sub(r"\s*\*\s*", "*", text)
    text = re.sub(r"\*(?=\w)", "* ", text)
    return re.sub(r"\s*([(),\[\]@])\s*", r"\1", text).replace(",", ", ").strip()


def split_commas(tokens):
    part, depth, parts = [], 0, []
    for token in tokens:
        depth += (token in PAIRS) - (token in PAIRS.values())
        if token == "," and depth == 0:
            parts.append(part)
            part = []
        else:
            part.append(token)
    return parts + [part] if part else parts


def parse_parameter(tokens):
    if "=" in tokens:
        tokens = tokens[:tokens.index("=")]
    if "(" in tokens:  # a function pointer: the name follows the star of the first bracket
        star = tokens.index("*", tokens.index("("))
        has_name = re.match(r"[A-Za-z_]", tokens[star + 1]) is not None
        name = tokens[star + 1] if has_name else ""
        rest = tokens[star + 1 + has_name:]
        return Parameter(spell(tokens[:star + 1] + ["@"] + rest), name)
    if tokens[-1] == "]":  # an array parameter is a pointer; keep its bounds for the reader of the generated text
        start = tokens.index("[")
        return Parameter(spell(tokens[:start - 1]) + " @" + spell(tokens[start:]), tokens[start - 1])
    last = tokens[-1]
    before = [t for t in tokens[:-1] if t not in ("const", "struct", "enum", "union", "volatile")]
    if re.match(r"[A-Za-z_]", last) and last not in TYPE_WORDS and before:
        return Parameter(spell(tokens[:-1]), last)
    return Parameter(spell(tokens), "")


def parse_function(tokens, wanted):
    """The declaration in these tokens if it declares a function whose name matches `wanted`, else None."""
    if tokens[0] in ("typedef", "using", "template") or tokens[-1] == "{}":
        return None
    tokens = without_attributes(tokens)
    if "(" not in tokens:
        return None
    opening = tokens.index("(")
    name = tokens[opening - 1] if opening else ""
    if not wanted.fullmatch(name):
        return None
    closing = matching(tokens, opening)
    result = [t for t in tokens[:opening - 1] if t not in NOISE and t != '"C"']
    if not result or "=" in result:
        raise HeaderError(f"{name}: cannot read its declaration: {' '.join(tokens)}")
    inside = tokens[opening + 1:closing]
    parameters = () if inside in ([], ["void"]) else tuple(parse_parameter(p) for p in split_commas(inside))
    return Function(name, spell(result), parameters)


def parse_functions(text, wanted):
    """Every function declared in preprocessed `text` whose name matches the pattern `wanted`: {name: Function}."""
    wanted = re.compile(wanted)
    found = {}
    for tokens in statements(text):
        function = parse_function(tokens, wanted)
        if function is None:
            continue
        # A name may be declared twice; the types must agree, the spelling of the parameters' names need not.
        earlier = found.setdefault(function.name, function)
        if earlier.signature() != function.signature():
            raise HeaderError(f"{function.name} is declared with two types:\n  {earlier.signature()}\n  {function.signature()}")
    return found


def parse_pointer_typedefs(text, wanted):
    """Every `typedef R (*NAME)(…)` whose NAME matches the pattern `wanted`: {NAME: Function}."""
    wanted = re.compile(wanted)
    found = {}
    for tokens in statements(text):
        tokens = without_attributes(tokens)
        if tokens[0] != "typedef" or "(" not in tokens:
            continue
        opening = tokens.index("(")
        if tokens[opening + 1:opening + 2] != ["*"] or not wanted.fullmatch(tokens[opening + 2]):
            continue
        rest = tokens[matching(tokens, opening) + 1:]
        inside = rest[1:matching(rest, 0)]
        parameters = () if inside in ([], ["void"]) else tuple(parse_parameter(p) for p in split_commas(inside))
        found[tokens[opening + 2]] = Function(tokens[opening + 2], spell(tokens[1:opening]), parameters)
    return found


def parse_aliases(text):
    """Plain typedefs, `typedef A B;` and `typedef struct T B;`: {B: A}, for comparing signatures."""
    aliases = {}
    for tokens in statements(text):
        tokens = without_attributes(tokens)
        if tokens[0] != "typedef" or "(" in tokens:
            continue
        if len(tokens) < 3 or not re.match(r"[A-Za-z_]", tokens[-1]):
            continue
        if "{}" in tokens:  # typedef struct T {…} B; with a tag B is that struct, without one B is its own type
            tag = tokens[1:tokens.index("{}")]
            # typedef struct T {…} *B, B2; is not used by these headers
            if len(tag) == 2 and tokens[tokens.index("{}") + 1] != "*":
                aliases[tokens[-1]] = spell(tag)
        elif "," not in tokens and "[" not in tokens:
            aliases[tokens[-1]] = spell(tokens[1:-1])
    return aliases


def resolver(aliases):
    """A function that replaces every alias in a type's text by what it stands for."""
    word = re.compile(r"(?:(?:struct|enum|union) )?[A-Za-z_]\w*")

    def resolve(text):
        for _ in range(16):  # deeper chains do not occur; a loop of aliases cannot either
            replaced = word.sub(lambda m: aliases.get(m.group(), m.group()), text)
            if replaced == text:
                return re.sub(r"\b(struct|enum|union) ", "", text)
            text = spell(TOKEN.findall(replaced))
        raise HeaderError(f"typedefs do not end: {text}")

    return resolve
