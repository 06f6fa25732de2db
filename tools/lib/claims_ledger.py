# SPDX-License-Identifier: Apache-2.0
"""The claims of the founding articles 000 to 003, and how each is tested: for tools/claims.

A claim is a function of a Bench: it asks for runs and returns its verdict and its lines. Verdicts follow from the
figures by rules that stand here, not by hand."""
from dataclasses import dataclass
from typing import Callable

CONFIRMED, CONDITIONAL, REFUTED = "confirmed", "conditional", "refuted"
GIB = 1 << 30
CARD = str(11 * GIB)  # the articles' card


@dataclass
class Claim:
    articles: str
    title: str
    claim: str
    test: Callable

    def section(self, bench):
        verdict, lines = self.test(bench)
        return {"articles": self.articles, "title": self.title, "claim": self.claim, "verdict": verdict, "lines": lines}


CLAIMS = []


def claim(articles, title, text):
    def take(test):
        CLAIMS.append(Claim(articles, title, text, test))
        return test
    return take


def b(n):
    return f"{n:,}"


def table(head, *rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def percent(part, whole):
    return f"{100 * part / whole:.1f} %"


def peaks(names, cells):
    """Rows of flags and their peaks."""
    return table(("flags of tidemark-train", "peak live, bytes"), *((f"`{n}`", b(c.live)) for n, c in zip(names, cells)))


# ---- precision -------------------------------------------------------------------------------------------------------

@claim("000, 001, 003", "Half precision saves near 50 %", "Training in fp16 takes close to half of the memory.")
def half(bench):
    cases = {"ResNet-50, batch 64": "--model resnet --size 50 --batch 64 --optimizer adam",
             "ResNet-50, batch 1": "--model resnet --size 50 --batch 1 --optimizer adam",
             "GPT-2 124M, batch 4": "--model gpt --size 124m --batch 4 --optimizer adam",
             "GPT-2 124M, batch 1, checkpoints": "--model gpt --size 124m --batch 1 --optimizer adam --checkpoint sqrt",
             "MLP 7x8192, batch 64": "--model mlp --size large --batch 64 --optimizer adam"}
    flags = [f"{case} --steps 2 --precision {p}" for case in cases.values() for p in ("fp32", "fp16")]
    cells = bench.dry_all(*flags)
    rows, saved = [], []
    for i, name in enumerate(cases):
        full, less = cells[2 * i].live, cells[2 * i + 1].live
        saved.append(1 - less / full)
        rows.append((name, b(full), b(less), percent(full - less, full)))
    lines = table(("training", "fp32, bytes", "fp16, bytes", "saved"), *rows)
    lines.append("Activations halve; parameters, gradients and optimizer states stay fp32, and matrices get a 16-bit working copy besides. Where activations are most of the "
                 "peak the claim is near; where parameters are, half precision costs memory.")
    close = sum(s > 0.45 for s in saved)
    return (CONFIRMED if close == len(saved) else CONDITIONAL if close else REFUTED), lines


@claim("000", "Sums overflow in fp16", "Means and sums over many values overflow in half precision (its largest number is 65504), and need care.")
def overflow(bench):
    cases = {n: f"--model gpt --size tiny --layers 1 --batch {n} --steps 1 --precision fp16" for n in (64, 256)}
    lines = [f"`{cases[256]}` and with `--naive-fp16`, which sums the losses of 256 x 64 words in fp16 instead of float; and the same with 64 x 64 words."]
    said = bench.computed_all(*(flags + more for flags in cases.values() for more in ("", " --naive-fp16")))
    if said is None:
        return CONFIRMED, lines
    losses = [s["losses"][0] for s in said]
    text = ["not a finite number" if x is None else f"{x:.5f}" for x in losses]
    lines.append(f"Computed: the loss of 4,096 words is {text[0]} with float sums and {text[1]} with fp16 sums; of 16,384 words {text[2]} and {text[3]}.")
    return (CONFIRMED if losses[3] is None and losses[2] is not None else CONDITIONAL if text[1] != text[0] else REFUTED), lines


# ---- the loop's own variables ----------------------------------------------------------------------------------------

@claim("000, 001, 003", "Deleting the loss", "Losses that are kept hold memory: delete them, or take their number, each step. Article 000 saw little effect.")
def loss(bench):
    base = "--model resnet --size 20 --batch 32 --keep-loss"
    names = [f"{base} --steps 2", f"{base} --steps 12", f"{base} --eval --steps 2", f"{base} --eval --steps 12"]
    cells = bench.dry_all(*names)
    after_backward, after_eval = (cells[1].live - cells[0].live) // 10, (cells[3].live - cells[2].live) // 10
    lines = peaks(names, cells)
    lines.append(f"After a backward pass a kept loss holds one block: {b(after_backward)} bytes per step. After an evaluation that recorded gradients and had no backward pass it holds all that was "
                 f"kept for one: {b(after_eval)} bytes per step.")
    return (CONDITIONAL if after_backward == 512 and after_eval > 1 << 20 else REFUTED), lines


@claim("001, 003", "Deleting tensors that are no longer used", "`del` for batch, output and loss frees memory.")
def delete(bench):
    names = ["--model unet --size full --batch 4 --steps 2", "--model unet --size full --batch 4 --steps 2 --del-early",
             "--model gpt --size 124m --batch 4 --steps 2", "--model gpt --size 124m --batch 4 --steps 2 --del-early"]
    cells = bench.dry_all(*names)
    unet, gpt = (cells[i].live - cells[i + 1].live for i in (0, 2))
    lines = peaks(names, cells)
    lines.append(f"What it frees counts only if it is alive at the peak: {b(unet)} bytes of the U-Net's ({percent(unet, cells[0].live)}), {b(gpt)} of GPT-2's "
                 f"({percent(gpt, cells[2].live)}), whose logits are among its variables.")
    return (CONDITIONAL if min(unet, gpt) >= 0 and max(unet, gpt) > 0 else REFUTED), lines


@claim("000", "empty_cache", "`empty_cache` changes what nvidia-smi shows, not what a training can take at most.")
def empty_cache(bench):
    base = "--model resnet --size 50 --batch 16 --steps 2 --optimizer adam"
    plain, emptied = bench.dry_all(base, base + " --empty-cache", after_step=1)
    rows = [(name, b(c.live), b(c.reserved), b(c.after)) for name, c in
            (("plain", plain), ("`--empty-cache`", emptied))]
    lines = [f"`{base}`, memory served by tidemark's allocator.", ""]
    lines += table(("", "peak live, bytes", "peak reserved, bytes", "reserved after the first step, bytes"), *rows)
    same = plain.live == emptied.live
    less = emptied.after < plain.after
    return (CONFIRMED if same and less else REFUTED), lines


# ---- evaluation ------------------------------------------------------------------------------------------------------

@claim("000, 001", "Evaluation needs no gradients", "A dev batch as large as the data set runs out of memory; `no_grad` lets it through.")
def evaluation(bench):
    base = "--model resnet --size 50 --batch 8 --steps 1 --eval --eval-batch 512"
    kept, free = bench.dry_all(base, base + " --no-grad")
    on_card = bench.dry_all(base, base + " --no-grad", memory=CARD)
    lines = table(("flags of tidemark-train", "peak live, bytes", "on 11 GiB"),
                  *((f"`{n}`", b(c.live), "fits" if f.fits else "out of memory") for n, c, f in
                    zip((base, base + " --no-grad"), (kept, free), on_card)))
    lines.append(f"Without gradients an evaluation holds the tensors of an op and its neighbours: {percent(free.live, kept.live)} of what it takes with them.")
    return (CONFIRMED if not on_card[0].fits and on_card[1].fits else CONDITIONAL), lines


# ---- parts of a batch ------------------------------------------------------------------------------------------------

@claim("000, 001, 002", "Four times four is sixteen", "A batch of 16 in four parts of 4, the loss divided by 4, is the batch of 16. Article 002: five times four is twenty.")
def accumulation(bench):
    base = "--model unet --size tiny --steps 3 --optimizer adam --reduce-chunk 1"
    cases = [f"{base} --batch {batch} --norm {norm} --accumulate {k}" for norm in ("gn", "bn") for batch, k in ((16, 1), (16, 4), (20, 1), (20, 5))]
    full = "--model unet --size full --optimizer adam --steps 2 --norm gn --batch 16"
    whole, parts = bench.dry_all(full, full + " --accumulate 4")
    lines = peaks([full, full + " --accumulate 4"], [whole, parts])
    said = bench.computed_all(*cases)
    if said is None:
        return CONDITIONAL, lines
    same = [said[i]["weights_hash"] == said[i + 1]["weights_hash"] for i in (0, 2, 4, 6)]
    word = {True: "the same bits", False: "other bits"}
    lines.append(f"Computed: weights after 3 steps of `{base}`, sums pinned to one order: with group norm {word[same[0]]} (4 x 4) and {word[same[1]]} (5 x 4); with batch norm {word[same[2]]} and "
                 f"{word[same[3]]}.")
    return (CONDITIONAL if same == [True, True, False, False] else REFUTED), lines


@claim("000", "Batch norm suffers from parts", "Eight parts are worse than a batch eight times as large, because running mean and variance are those of parts.")
def batch_norm(bench):
    base = "--model resnet --size tiny --batch 32 --steps 20 --lr 0.05 --eval --no-grad"
    cases = [f"{base} --norm {norm} --accumulate {k}" for norm in ("bn", "gn") for k in (1, 2, 4, 8)]
    lines = [f"`{base}`, with `--norm bn` and `gn` and `--accumulate` 1, 2, 4 and 8: losses of the evaluation, which uses running statistics, after 20 steps."]
    said = bench.computed_all(*cases)
    if said is None:
        return CONDITIONAL, lines
    losses = [s["eval_losses"][-1] for s in said]
    shown = [", ".join(f"{x:.4f}" for x in losses[i:i + 4]) for i in (0, 4)]
    lines.append(f"Computed: batch norm {shown[0]}; group norm {shown[1]}.")
    drift = [max(abs(x - losses[i]) for x in losses[i:i + 4]) for i in (0, 4)]
    worse = losses[3] > losses[0]
    lines.append(f"Computed: parts move batch norm's loss by up to {drift[0]:.2g}, group norm's by up to {drift[1]:.2g}. Statistics of parts are those of fewer samples, and are brought up to date more often: eight parts "
                 f"are {'worse' if worse else 'better'} here.")
    return (CONFIRMED if worse and drift[0] > 10 * drift[1] else CONDITIONAL if drift[0] > 10 * drift[1] else REFUTED), lines


@claim("001", "Batch 32 in eight parts", "With batch 32 and accumulation 8 only four samples are there at a time.")
def eight_parts(bench):
    base = "--model resnet --size 50 --steps 2"
    names = [f"{base} --batch 32", f"{base} --batch 32 --accumulate 8", f"{base} --batch 4"]
    whole, parts, small = bench.dry_all(*names)
    lines = peaks(names, [whole, parts, small])
    lines.append(f"Activations at the peak: {b(whole.kind('activation'))}, {b(parts.kind('activation'))} and {b(small.kind('activation'))} bytes. The parts take what a batch of 4 takes, and gradients, which outlive a part.")
    ratio = parts.kind("activation") / whole.kind("activation")
    return (CONFIRMED if 0.9 / 8 < ratio < 1.1 / 8 else CONDITIONAL if ratio < 0.5 else REFUTED), lines


# ---- shapes ----------------------------------------------------------------------------------------------------------

@claim("001, 003", "Memory is linear in the batch", "Activations grow linearly with the batch size.")
def linear(bench):
    rows, straight = [], True
    batches = (8, 16, 32, 64)
    models = ("resnet --size 50", "unet --size full", "gpt --size 124m", "lstm --size large")
    cells = bench.dry_all(*(f"--model {model} --batch {n} --steps 2" for model in models for n in batches))
    for i, model in enumerate(models):
        live = [c.live for c in cells[4 * i:4 * i + 4]]
        slopes = [(live[k + 1] - live[k]) / (batches[k + 1] - batches[k]) for k in range(3)]
        straight &= max(slopes) - min(slopes) < 0.001 * slopes[0]
        rows.append((model.replace(" --size", ""), *(b(x) for x in live), b(round(slopes[-1]))))
    lines = table(("model", *(f"batch {n}" for n in batches), "bytes per sample"), *rows)
    lines.append("A peak is the largest of many moments, and each of them is a line: memory is linear from the batch on at which one of them leads. At batch 8 ResNet-50's peak is another moment than from 16 on."
                 if not straight else "")
    return (CONFIRMED if straight else CONDITIONAL), lines


@claim("001, 003", "Longer sequences mean more parameters", "A longer sequence makes the number of parameters grow linearly.")
def sequences(bench):
    rows, constant = [], True
    cases = (("lstm --size large --batch 16", (64, 128, 256)), ("gpt --size 124m --batch 2", (256, 512, 1024)))
    ran = bench.dry_all(*(f"--model {model} --steps 2 --seq {n}" for model, lengths in cases for n in lengths))
    for i, (model, lengths) in enumerate(cases):
        cells = ran[3 * i:3 * i + 3]
        for n, c in zip(lengths, cells):
            rows.append((model.split()[0], n, b(c.parameters), b(c.kind("activation")), b(c.live)))
        places = 768 if model.startswith("gpt") else 0
        constant &= all(c.parameters - places * n == cells[0].parameters - places * lengths[0] for n, c in zip(lengths, cells))
    lines = table(("model", "sequence", "parameters", "activations at the peak, bytes", "peak live, bytes"), *rows)
    lines.append("Activations grow, linearly in a recurrent net, faster with attention. An LSTM's parameters do not change; GPT-2's grow by its table of places alone, 768 numbers per place.")
    return (REFUTED if constant else CONFIRMED), lines


@claim("001, 003", "GRU for LSTM, one layer for two", "A GRU takes less than an LSTM; one layer less than two.")
def recurrent(bench):
    base = "--size large --batch 64 --steps 2 --optimizer adam"
    names = [f"--model lstm {base} --layers 2", f"--model lstm {base} --layers 1", f"--model gru {base} --layers 2", f"--model gru {base} --layers 1"]
    cells = bench.dry_all(*names)
    lines = table(("flags of tidemark-train", "parameters", "peak live, bytes"), *((f"`{n}`", b(c.parameters), b(c.live)) for n, c in zip(names, cells)))
    head = 1024 * 10 + 10  # the classifier is the same
    ratio = (cells[3].parameters - head) / (cells[1].parameters - head)
    lines.append(f"Parameters of the cells: the GRU has {ratio:.4f} of the LSTM's.")
    smaller = cells[2].live < cells[0].live and cells[1].live < cells[0].live
    return (CONFIRMED if smaller and ratio == 0.75 else REFUTED), lines


@claim("000, 001, 003", "Fewer fully connected layers, global pooling", "Replace fully connected heads by global average pooling; use fewer kernels and fewer layers.")
def heads(bench):
    base = "--model vgg --size 16 --batch 16 --steps 2 --optimizer adam"
    names = [base, base + " --head gap", base + " --width 32", base + " --pool-early"]
    cells = bench.dry_all(*names)
    lines = table(("flags of tidemark-train", "parameters", "peak live, bytes"), *((f"`{n}`", b(c.parameters), b(c.live)) for n, c in zip(names, cells)))
    lines.append(f"The head holds {percent(cells[0].parameters - cells[1].parameters, cells[0].parameters)} of VGG-16's parameters, and with Adam each is there five times.")
    return (CONFIRMED if all(c.live < cells[0].live for c in cells[1:]) else REFUTED), lines


@claim("002", "Four pictures of 1400 x 2100 in 11 GB", "With pictures of 1400 x 2100, about four fit on a card of 11 GB.")
def pictures(bench):
    image = "--image 1392x2096"  # the largest that four halvings divide
    unet = f"--model unet --size full {image} --steps 2"
    names = [f"{unet} --batch 1", f"--model resnet --size 50 {image} --batch 4 --steps 2", f"--model resnet --size 18 {image} --batch 4 --steps 2"]
    cells = bench.dry_all(*names)
    largest = bench.largest_all(unet + " --batch {n}", unet + " --batch {n} --checkpoint sqrt --precision bf16 --inplace --del-early",
                                f"--model resnet --size 50 {image} --steps 2 --batch {{n}}", f"--model resnet --size 18 {image} --steps 2 --batch {{n}}",
                                memory=CARD)
    lines = peaks(names, cells)
    lines += table(("model", "largest batch in 11 GiB"), ("U-Net, 64 channels", largest[0]),
                   ("U-Net, `--checkpoint sqrt --precision bf16 --inplace --del-early`", largest[1]),
                   ("ResNet-50", largest[2]), ("ResNet-18", largest[3]))
    lines.append("It depends on the model: the article does not name its own.")
    return (CONFIRMED if min(largest) >= 4 else CONDITIONAL if max(largest) >= 4 else REFUTED), lines


# ---- optimizers and formulas -----------------------------------------------------------------------------------------

@claim("000", "SGD, momentum, Adam", "SGD takes less than momentum, which takes less than Adam.")
def optimizers(bench):
    base = "--model gpt --size 124m --batch 1 --steps 2 --optimizer"
    names = [f"{base} {o}" for o in ("sgd", "momentum", "adam")]
    cells = bench.dry_all(*names)
    p = cells[0].parameters
    lines = table(("optimizer", "its states, bytes", "per parameter", "peak live, bytes"),
                  *((n.split()[-1], b(c.kind("optimizer")), f"{c.kind('optimizer') / p:.2f}", b(c.live)) for n, c in zip(names, cells)))
    ordered = cells[0].live < cells[1].live < cells[2].live
    return (CONFIRMED if ordered else REFUTED), lines


@claim("003", "n is 2 for SGD and 4 for Adam", "Parameters are there n times: twice with SGD, four times with Adam.")
def copies(bench):
    base = "--model mlp --size large --batch 1 --steps 2"
    names = [f"{base} --optimizer {o}" for o in ("sgd", "momentum", "adam", "adam --fused", "adam --fused --step-in-backward", "sgd --step-in-backward")]
    cells = bench.dry_all(*names)
    n = [c.live / (4 * c.parameters) for c in cells]
    lines = table(("flags of tidemark-train", "peak live, bytes", "by the bytes of the parameters"),
                  *((f"`{name}`", b(c.live), f"{x:.3f}") for name, c, x in zip(names, cells, n)))
    lines.append("Right for SGD. Adam's step in passes holds a fifth copy, its divisors; a fused step does not; a step inside of the backward pass also ends each gradient at once.")
    return (CONDITIONAL if abs(n[0] - 2) < 0.01 and abs(n[2] - 5) < 0.02 and abs(n[3] - 4) < 0.02 else REFUTED), lines


@claim("003", "Outputs count twice", "Memory is parameters times n, plus the outputs of all layers twice, plus the input.")
def formula(bench):
    rows, ratios = [], []
    cases = (("resnet --size 50", 32, 64), ("vgg --size 16", 32, 64), ("unet --size full", 2, 4), ("gpt --size 124m", 2, 4))
    cells = bench.dry_all(*(f"--model {model} --batch {n} --steps 2" for model, *batches in cases for n in batches))
    for (model, small, large), low, high in zip(cases, cells[0::2], cells[1::2]):
        said = high.said
        sample = (high.live - low.live) // (large - small)
        outputs = 4 * (2 * (said["module_outputs"] + said["activation_outputs"]) + said["input_elements"])
        in_place = 4 * (2 * said["module_outputs"] + said["input_elements"])
        ratios.append(outputs / sample)
        rows.append((model.replace(" --size", ""), b(sample), b(outputs), f"{outputs / sample:.2f}", f"{in_place / sample:.2f}"))
    lines = table(("model", "measured, bytes per sample", "by the formula", "formula by measured", "with activations in place"), *rows)
    lines.append("Gradients of outputs are transient: one or two are there at a time, never all. And an output that two layers keep is there once. That also answers the article's question why "
                 "outputs do not count four times with Adam: optimizer states belong to parameters alone. GPT-2 takes more than the formula says: "
                 "attention's probabilities are kept, and are no module's output.")
    near = sum(abs(ratio - 1) < 0.1 for ratio in ratios)
    return (CONFIRMED if near == len(ratios) else CONDITIONAL if near else REFUTED), lines


# ---- checkpoints -----------------------------------------------------------------------------------------------------

@claim("000", "Checkpoints make N layers cost sqrt(N)", "Gradient checkpointing turns O(N) memory into O(sqrt(N)).")
def checkpoints(bench):
    base = "--model mlp --size large --width 512 --batch 8192 --steps 2"
    depths = (16, 64, 144)
    flags = [f"{base} --layers {n}{more}" for n in depths for more in ("", " --checkpoint sqrt")]
    cells = bench.dry_all(*flags)
    rows, ratios = [], []
    for i, n in enumerate(depths):
        plain, less = (cells[2 * i + k].kind("activation") for k in (0, 1))
        ratios.append((plain, less))
        rows.append((n, b(cells[2 * i].live), b(cells[2 * i + 1].live), b(plain), b(less), f"{plain / less:.1f}"))
    lines = table(("layers N", "peak live, bytes", "with `--checkpoint sqrt`", "activations at the peak", "with `--checkpoint sqrt`", "by"), *rows)
    growth = ratios[2][1] / ratios[0][1]
    lines.append(f"Nine times the layers keep {ratios[2][0] / ratios[0][0]:.1f} times the activations, with checkpoints {growth:.1f} times; sqrt(9) is 3.")
    return (CONFIRMED if 2 < growth < 4 else CONDITIONAL), lines


@claim("000", "Checkpoints are not noticeably slower", "The forward pass is computed twice, yet it is not noticeably slower.")
def slower(bench):
    models = {"unet": "--model unet --size tiny", "gpt": "--model gpt --size tiny", "resnet": "--model resnet --size 20"}
    cells = bench.dry_all(*(f"{flags} --steps 2 --checkpoint sqrt" for flags in models.values()))
    lines = table(("training", "computed again, of all operations of a step"),
                  *((f"`{flags} --checkpoint sqrt`", f"{100 * c.said['recompute_flops_ratio']:.1f} %") for flags, c in zip(models.values(), cells)))
    if not bench.execute:
        return REFUTED, lines
    times = [bench.slowdown(f"{flags} --steps 6 --checkpoint sqrt", f"{flags} --steps 6") for flags in models.values()]
    lines.append("Computed: a step takes " + ", ".join(f"{t:.2f} times as long ({name})" for name, t in zip(models, times)) + ".")
    return (CONFIRMED if max(times) < 1.05 else CONDITIONAL if min(times) < 1.05 else REFUTED), lines


@claim("all but 002", "Activations in place", "`inplace=True` saves memory.")
def in_place(bench):
    rows, saved = [], []
    models = ("resnet --size 50 --batch 64", "vgg --size 16 --batch 64", "unet --size full --batch 4", "mlp --size large --batch 1024",
              "vgg --size 16 --batch 1 --eval --no-grad --eval-batch 256", "resnet --size 50 --batch 1 --eval --no-grad --eval-batch 256")
    cells = bench.dry_all(*(f"--model {model} --steps 2{more}" for model in models for more in ("", " --inplace")))
    for model, plain, less in zip(models, cells[0::2], cells[1::2]):
        saved.append(plain.live - less.live)
        rows.append((f"`--model {model}`", b(plain.live), b(less.live), percent(saved[-1], plain.live)))
    lines = table(("training", "peak live, bytes", "`--inplace`", "saved"), *rows)
    lines.append("A ReLU keeps its output for the backward pass, not its input: writing over the input saves the moment in which both are there, and that moment is not the peak of these trainings, nor of "
                 "evaluations without gradients, where the layer before an activation has an input and an output as well. A framework whose ReLU keeps its input would save that.")
    return (CONDITIONAL if min(saved) >= 0 and max(saved) > 0 else REFUTED), lines


@claim("003", "BERT trains on a card of 11 GB", "BERT on a 1080 Ti with 11 GB; the article's section on checkpoints is empty, and is filled here.")
def bert(bench):
    tricks = {"plain": "", "checkpoints": "--checkpoint sqrt", "checkpoints, bf16, step in backward": "--checkpoint sqrt --precision bf16 --step-in-backward --fused --del-early --inplace"}
    cases = [(size, length, name) for size in ("base", "large") for name in tricks for length in (128, 512)]
    largest = bench.largest_all(*(f"--model bert --size {size} --seq {length} --optimizer adamw --steps 2 --batch {{n}} {tricks[name]}"
                                  for size, length, name in cases), memory=CARD)
    rows = [(f"BERT {size}, sequence {length}", name, most or "none") for (size, length, name), most in zip(cases, largest)]
    lines = table(("model", "tricks", "largest batch in 11 GiB"), *rows)
    return (CONFIRMED if min(largest) > 0 else CONDITIONAL), lines
