// SPDX-License-Identifier: Apache-2.0
// The models. How a table is written: models.h. Sizes are at the end: `tiny` trains in seconds on two processor cores,
// the others are the published ones.
#include "samples/trainer/models.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/nearest.h"

namespace tidemark::trainer {
namespace {

constexpr std::string_view kMlp = R"(
data pictures 1 28 28 classes=$classes
block dense out
  fc   linear out=$out
  act  relu
end
hidden dense x$layers out=$width
head   linear out=$classes
loss cross-entropy
)";

constexpr std::string_view kVgg = R"(
data pictures 3 $height $width classes=$classes
block step out
  conv conv out=$out size=3 pad=1
  act  relu
end
# Pictures become smaller after a stage's last convolution, or already after its first.
block stage out more
  conv step x1 out=$out
  ?pool=early pool maxpool
  more step x$more out=$out
  ?pool=late  pool maxpool
end
block dense out
  fc   linear out=$out
  act  relu
  drop dropout rate=$dropout
end
stage1 stage out=$channels more=1
stage2 stage out=$channels*2 more=1
stage3 stage out=$channels*4 more=$depth
?stages=5 stage4 stage out=$channels*8 more=$depth
?stages=5 stage5 stage out=$channels*8 more=$depth
?head=fc  dense  dense x$dense out=$hidden
?head=gap gap    gap
head   linear out=$classes
loss cross-entropy
)";

constexpr std::string_view kResnet = R"(
data pictures 3 $height $width classes=$classes
block norm
  ?norm=bn bn batchnorm
  ?norm=gn gn groupnorm groups=$groups
end
block basic out stride=1 project=0
  conv1 conv out=$out size=3 pad=1 stride=$stride bias=0
  norm1 norm
  relu1 relu
  conv2 conv out=$out size=3 pad=1 bias=0
  norm2 norm
  ?project=0 short shortcut out=$out stride=$stride <- in
  ?project=1 down  conv out=$out stride=$stride bias=0 <- in
  ?project=1 short norm
  add   add <- norm2 short
  relu2 relu
end
block bottleneck out stride=1 project=0
  conv1 conv out=$out bias=0
  norm1 norm
  relu1 relu
  conv2 conv out=$out size=3 pad=1 stride=$stride bias=0
  norm2 norm
  relu2 relu
  conv3 conv out=$out*4 bias=0
  norm3 norm
  ?project=0 short shortcut out=$out*4 stride=$stride <- in
  ?project=1 down  conv out=$out*4 stride=$stride bias=0 <- in
  ?project=1 short norm
  add   add <- norm3 short
  relu3 relu
end
?stem=small conv1 conv out=$channels size=3 pad=1 bias=0
?stem=large conv1 conv out=$channels size=7 pad=3 stride=2 bias=0
norm1  norm
relu1  relu
?stem=large pool maxpool size=3 stride=2 pad=1
?block=basic layer1 basic x$n1 out=$channels
?block=basic layer2 basic x$n2 out=$channels*2 stride=2,1 project=$project,0
?block=basic layer3 basic x$n3 out=$channels*4 stride=2,1 project=$project,0
?stages=4basic layer4 basic x$n4 out=$channels*8 stride=2,1 project=$project,0
?block=bottleneck layer1 bottleneck x$n1 out=$channels stride=1 project=1,0
?block=bottleneck layer2 bottleneck x$n2 out=$channels*2 stride=2,1 project=1,0
?block=bottleneck layer3 bottleneck x$n3 out=$channels*4 stride=2,1 project=1,0
?block=bottleneck layer4 bottleneck x$n4 out=$channels*8 stride=2,1 project=1,0
gap    gap
head   linear out=$classes
loss cross-entropy
)";

constexpr std::string_view kUnet = R"(
data disks 3 $height $width
block norm
  ?norm=bn bn batchnorm
  ?norm=gn gn groupnorm groups=$groups
end
block double mid out
  conv1 conv out=$mid size=3 pad=1 bias=0
  norm1 norm
  relu1 relu
  conv2 conv out=$out size=3 pad=1 bias=0
  norm2 norm
  relu2 relu
end
block up mid out
  up   upsample
  cat  concat <- in2 up
  conv double mid=$mid out=$out
end
enc1  double mid=$channels out=$channels
pool1 maxpool
enc2  double mid=$channels*2 out=$channels*2
pool2 maxpool
enc3  double mid=$channels*4 out=$channels*4
pool3 maxpool
enc4  double mid=$channels*8 out=$channels*8
pool4 maxpool
enc5  double mid=$channels*8 out=$channels*8
up4   up mid=$channels*8 out=$channels*4 <- enc5 enc4
up3   up mid=$channels*4 out=$channels*2 <- up4 enc3
up2   up mid=$channels*2 out=$channels <- up3 enc2
up1   up mid=$channels out=$channels <- up2 enc1
head  conv out=1
loss mask-loss
)";

constexpr std::string_view kRecurrent = R"(
data series $seq $features classes=$classes
?cell=lstm rnn lstm x$layers out=$width
?cell=gru  rnn gru x$layers out=$width
last  last
drop  dropout rate=$dropout
head  linear out=$classes
loss cross-entropy
)";

constexpr std::string_view kGpt = R"(
data text $seq classes=$words
block layer
  ln1  layernorm
  qkv  linear out=$width*3 init=0.02
  attn attention heads=$heads causal=1 rate=$dropout
  proj linear out=$width init=0.02
  drop1 dropout rate=$dropout
  add1 add <- drop1 in
  ln2  layernorm
  fc   linear out=$width*4 init=0.02
  act  gelu
  out  linear out=$width init=0.02
  drop2 dropout rate=$dropout
  add2 add <- drop2 add1
end
embed embed width=$width
drop  dropout rate=$dropout
h     layer x$layers
ln    layernorm
head  linear out=$words tie=embed bias=0
loss cross-entropy
)";

constexpr std::string_view kBert = R"(
data masked-text $seq classes=$words
block layer
  qkv   linear out=$width*3 init=0.02
  attn  attention heads=$heads rate=$dropout
  proj  linear out=$width init=0.02
  drop1 dropout rate=$dropout
  add1  add <- drop1 in
  ln1   layernorm
  fc    linear out=$width*4 init=0.02
  act   gelu
  out   linear out=$width init=0.02
  drop2 dropout rate=$dropout
  add2  add <- drop2 ln1
  ln2   layernorm
end
embed embed width=$width
ln    layernorm
drop  dropout rate=$dropout
layer layer x$layers
dense linear out=$width init=0.02
act   gelu
ln_head layernorm
head  linear out=$words tie=embed bias=0
loss cross-entropy
)";

struct Row {
  std::string_view model, size, text;
  std::size_t batch;
  std::string_view variables;
};
// The first size of a model is its default.
constexpr std::string_view kCifar =
    "height=32 width=32 classes=10 channels=16 stem=small block=basic project=0 stages=3 norm=bn groups=8";
constexpr std::string_view kImagenet =
    "height=224 width=224 classes=1000 channels=64 stem=large norm=bn groups=32 project=1";

const std::array kRows = {
    Row{"mlp", "tiny", kMlp, 128, "width=512 layers=7 classes=10"},
    Row{"mlp", "large", kMlp, 1024, "width=8192 layers=7 classes=10"},
    Row{"vgg", "tiny", kVgg, 32,
        "height=32 width=32 channels=32 depth=1 stages=3 pool=late head=fc dense=1 hidden=512 classes=10 dropout=0"},
    Row{"vgg", "16", kVgg, 64,
        "height=224 width=224 channels=64 depth=2 stages=5 pool=late head=fc dense=2 hidden=4096 classes=1000 "
        "dropout=0.5"},
    Row{"resnet", "tiny", kResnet, 32, "n1=1 n2=1 n3=1 +cifar"},
    Row{"resnet", "20", kResnet, 32, "n1=3 n2=3 n3=3 +cifar"},
    Row{"resnet", "56", kResnet, 32, "n1=9 n2=9 n3=9 +cifar"},
    Row{"resnet", "110", kResnet, 32, "n1=18 n2=18 n3=18 +cifar"},
    Row{"resnet", "18", kResnet, 64, "n1=2 n2=2 n3=2 n4=2 block=basic stages=4basic +imagenet"},
    Row{"resnet", "34", kResnet, 64, "n1=3 n2=4 n3=6 n4=3 block=basic stages=4basic +imagenet"},
    Row{"resnet", "50", kResnet, 64, "n1=3 n2=4 n3=6 n4=3 block=bottleneck stages=4 +imagenet"},
    Row{"resnet", "101", kResnet, 64, "n1=3 n2=4 n3=23 n4=3 block=bottleneck stages=4 +imagenet"},
    Row{"resnet", "152", kResnet, 64, "n1=3 n2=8 n3=36 n4=3 block=bottleneck stages=4 +imagenet"},
    Row{"unet", "tiny", kUnet, 8, "height=64 width=64 channels=8 norm=bn groups=4"},
    Row{"unet", "full", kUnet, 4, "height=512 width=512 channels=64 norm=bn groups=32"},
    Row{"lstm", "tiny", kRecurrent, 16, "cell=lstm seq=32 features=64 width=128 layers=1 classes=10 dropout=0"},
    Row{"lstm", "large", kRecurrent, 64, "cell=lstm seq=256 features=512 width=1024 layers=4 classes=10 dropout=0"},
    Row{"gru", "tiny", kRecurrent, 16, "cell=gru seq=32 features=64 width=128 layers=1 classes=10 dropout=0"},
    Row{"gru", "large", kRecurrent, 64, "cell=gru seq=256 features=512 width=1024 layers=4 classes=10 dropout=0"},
    Row{"gpt", "tiny", kGpt, 4, "seq=64 width=128 heads=4 layers=4 words=512 dropout=0"},
    Row{"gpt", "124m", kGpt, 4, "seq=1024 width=768 heads=12 layers=12 words=50257 dropout=0"},
    Row{"bert", "tiny", kBert, 8, "seq=64 width=128 heads=2 layers=2 words=512 dropout=0.1"},
    Row{"bert", "base", kBert, 8, "seq=512 width=768 heads=12 layers=12 words=30522 dropout=0.1"},
    Row{"bert", "large", kBert, 8, "seq=512 width=1024 heads=16 layers=24 words=30522 dropout=0.1"},
};

void read_variables(std::string_view text, Variables& variables) {
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) {
    if (word == "+cifar") {
      read_variables(kCifar, variables);
    } else if (word == "+imagenet") {
      read_variables(kImagenet, variables);
    } else {
      std::size_t const equals = word.find('=');
      variables.insert_or_assign(word.substr(0, equals), word.substr(equals + 1));
    }
  }
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view const word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

Error unknown(std::string_view what, std::string_view given, const std::vector<std::string_view>& known) {
  std::string_view const meant = nearest(given, known);
  return {Errc::NotFound, "no " + std::string(what) + " '" + std::string(given) + "'",
          meant.empty() ? "there are: " + joined(known) : "did you mean " + std::string(meant) + "?"};
}

}  // namespace

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows)
    if (names.empty() || names.back() != row.model) names.push_back(row.model);
  return names;
}

std::vector<std::string_view> sizes_of(std::string_view model) {
  std::vector<std::string_view> sizes;
  for (const Row& row : kRows)
    if (row.model == model) sizes.push_back(row.size);
  return sizes;
}

Result<ModelSize> find_model(std::string_view model, std::string_view size) {
  std::vector<std::string_view> const sizes = sizes_of(model);
  if (sizes.empty()) return unknown("model", model, model_names());
  std::string_view const wanted = size.empty() ? sizes[0] : size;
  for (const Row& row : kRows) {
    if (row.model != model || row.size != wanted) continue;
    ModelSize found{.model = row.model, .size = row.size, .text = row.text, .batch = row.batch};
    read_variables(row.variables, found.variables);
    return found;
  }
  return unknown("size of " + std::string(model), wanted, sizes);
}

}  // namespace tidemark::trainer
