// SPDX-License-Identifier: Apache-2.0
// What does the trainer cost on the software device, against the same model written by hand with OpenBLAS calls? Steps
// of both in turn, in one process, on one thread, in processor time; the smallest of the rounds counts. The trainer
// also draws its data; the hand-written step gets it for nothing.
#include <cblas.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "samples/trainer/models.h"
#include "samples/trainer/session.h"

extern "C" void openblas_set_num_threads(int);

namespace {

using Floats = std::vector<float>;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Matrix {
  const float* data;
  int rows, columns;
  bool transposed = false;
};
// c = a b + keep * c, row by row.
void multiply(Matrix a, Matrix b, float* c, float keep = 0) {
  int const m = a.transposed ? a.columns : a.rows, k = a.transposed ? a.rows : a.columns;
  int const n = b.transposed ? b.rows : b.columns;
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans, m, n,
              k, 1, a.data, a.columns, b.data, b.columns, keep, c, n);
}

// A layer as one writes it for one network: buffers made once, loops in place.
struct Layer {
  virtual ~Layer() = default;
  virtual const Floats& forward(const Floats& x) = 0;
  virtual const Floats& backward(const Floats& x, const Floats& dy) = 0;
  virtual void step(float) {}
};

struct Weights {
  Floats w, dw, b, db;
  Weights(int outputs, int inputs)
      : w(static_cast<std::size_t>(outputs) * inputs), dw(w.size()), b(outputs), db(outputs) {
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = std::sin(static_cast<float>(i)) * std::sqrt(2.0f / static_cast<float>(inputs));
  }
  void step(float rate) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * dw[i];
    for (std::size_t i = 0; i < b.size(); ++i) b[i] -= rate * db[i];
  }
};

struct Linear : Layer {
  int batch, in, out;
  Weights p;
  Floats y, dx;
  Linear(int n, int i, int o)
      : batch(n), in(i), out(o), p(o, i), y(static_cast<std::size_t>(n) * o), dx(static_cast<std::size_t>(n) * i) {}
  const Floats& forward(const Floats& x) override {
    for (int r = 0; r < batch; ++r) std::copy(p.b.begin(), p.b.end(), y.begin() + static_cast<long>(r) * out);
    multiply({x.data(), batch, in}, {p.w.data(), out, in, true}, y.data(), 1);
    return y;
  }
  const Floats& backward(const Floats& x, const Floats& dy) override {
    multiply({dy.data(), batch, out, true}, {x.data(), batch, in}, p.dw.data());
    std::fill(p.db.begin(), p.db.end(), 0.0f);
    for (int r = 0; r < batch; ++r)
      for (int c = 0; c < out; ++c) p.db[c] += dy[static_cast<std::size_t>(r) * out + c];
    multiply({dy.data(), batch, out}, {p.w.data(), out, in}, dx.data());
    return dx;
  }
  void step(float rate) override { p.step(rate); }
};

struct Relu : Layer {
  Floats y, dx;
  explicit Relu(std::size_t n) : y(n), dx(n) {}
  const Floats& forward(const Floats& x) override {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] > 0 ? x[i] : 0;
    return y;
  }
  const Floats& backward(const Floats&, const Floats& dy) override {
    for (std::size_t i = 0; i < dy.size(); ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
    return dx;
  }
};

// 3x3, padded by 1: one sample's windows at a time.
struct Convolution : Layer {
  int batch, in, out, side;
  Weights p;
  Floats y, dx, columns;
  Convolution(int n, int i, int o, int s)
      : batch(n),
        in(i),
        out(o),
        side(s),
        p(o, 9 * i),
        y(static_cast<std::size_t>(n) * o * s * s),
        dx(static_cast<std::size_t>(n) * i * s * s),
        columns(static_cast<std::size_t>(9) * i * s * s) {}
  template <class F>
  void each_row(F f) const {
    for (int e = 0; e < 9 * in; ++e)
      for (int r = 0; r < side; ++r) {
        int const from = r + e / 3 % 3 - 1, shift = e % 3 - 1;
        f((e * side + r) * side, from < 0 || from >= side ? -1 : (e / 9 * side + from) * side, shift);
      }
  }
  void to_columns(const float* x) {
    each_row([&](int to, int from, int shift) {
      float* const c = columns.data() + to;
      if (from < 0) return static_cast<void>(std::fill_n(c, side, 0.0f));
      int const low = shift < 0 ? 1 : 0, high = shift > 0 ? side - 1 : side;
      if (low == 1) c[0] = 0;
      if (high < side) c[side - 1] = 0;
      std::memcpy(c + low, x + from + low + shift, static_cast<std::size_t>(high - low) * sizeof(float));
    });
  }
  const Floats& forward(const Floats& x) override {
    int const plane = side * side;
    for (int s = 0; s < batch; ++s) {
      float* const to = y.data() + static_cast<long>(s) * out * plane;
      to_columns(x.data() + static_cast<long>(s) * in * plane);
      for (int c = 0; c < out; ++c) std::fill_n(to + c * plane, plane, p.b[c]);
      multiply({p.w.data(), out, 9 * in}, {columns.data(), 9 * in, plane}, to, 1);
    }
    return y;
  }
  const Floats& backward(const Floats& x, const Floats& dy) override {
    int const plane = side * side;
    std::fill(dx.begin(), dx.end(), 0.0f);
    std::fill(p.db.begin(), p.db.end(), 0.0f);
    for (int s = 0; s < batch; ++s) {
      const float* const d = dy.data() + static_cast<long>(s) * out * plane;
      float* const to = dx.data() + static_cast<long>(s) * in * plane;
      to_columns(x.data() + static_cast<long>(s) * in * plane);
      multiply({d, out, plane}, {columns.data(), 9 * in, plane, true}, p.dw.data(), s == 0 ? 0.0f : 1.0f);
      for (int c = 0; c < out; ++c)
        for (int i = 0; i < plane; ++i) p.db[c] += d[c * plane + i];
      multiply({p.w.data(), out, 9 * in, true}, {d, out, plane}, columns.data());
      each_row([&](int from, int at, int shift) {
        if (at < 0) return;
        int const low = shift < 0 ? 1 : 0, high = shift > 0 ? side - 1 : side;
        for (int i = low; i < high; ++i) to[at + i + shift] += columns[from + i];
      });
    }
    return dx;
  }
  void step(float rate) override { p.step(rate); }
};

struct Pool : Layer {
  int planes, side;
  Floats y, dx;
  std::vector<int> which;
  Pool(int p, int s)
      : planes(p), side(s), y(static_cast<std::size_t>(p * s * s / 4)), dx(4 * y.size()), which(y.size()) {}
  const Floats& forward(const Floats& x) override {
    std::size_t o = 0;
    for (int p = 0; p < planes; ++p)
      for (int r = 0; r < side; r += 2)
        for (int c = 0; c < side; c += 2, ++o) {
          int best = (p * side + r) * side + c;
          for (int const at : {best + 1, best + side, best + side + 1})
            if (x[static_cast<std::size_t>(at)] > x[static_cast<std::size_t>(best)]) best = at;
          which[o] = best;
          y[o] = x[static_cast<std::size_t>(best)];
        }
    return y;
  }
  const Floats& backward(const Floats&, const Floats& dy) override {
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (std::size_t o = 0; o < dy.size(); ++o) dx[static_cast<std::size_t>(which[o])] = dy[o];
    return dx;
  }
};

class ByHand {
 public:
  explicit ByHand(std::size_t batch) : batch_(batch) {}
  template <class L, class... A>
  void add(A... args) {
    layers_.push_back(std::make_unique<L>(args...));
  }
  void step(const Floats& input) {
    std::vector<const Floats*> values{&input};
    for (auto& layer : layers_) values.push_back(&layer->forward(*values.back()));
    Floats gradient = *values.back();
    std::size_t const classes = gradient.size() / batch_;
    for (std::size_t r = 0; r < batch_; ++r) softmax_minus_target(&gradient[r * classes], classes, r % classes);
    const Floats* dy = &gradient;
    for (std::size_t i = layers_.size(); i-- > 0;) dy = &layers_[i]->backward(*values[i], *dy);
    for (auto& layer : layers_) layer->step(1e-4f);
  }

 private:
  void softmax_minus_target(float* row, std::size_t n, std::size_t target) const {
    float const top = *std::max_element(row, row + n);
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += row[i] = std::exp(row[i] - top);
    for (std::size_t i = 0; i < n; ++i)
      row[i] = (row[i] / sum - (i == target ? 1.0f : 0.0f)) / static_cast<float>(batch_);
  }
  std::size_t batch_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

ByHand mlp_by_hand(int batch) {
  ByHand net(static_cast<std::size_t>(batch));
  for (int i = 0; i < 7; ++i) {
    net.add<Linear>(batch, i == 0 ? 784 : 512, 512);
    net.add<Relu>(static_cast<std::size_t>(batch) * 512);
  }
  net.add<Linear>(batch, 512, 10);
  return net;
}
ByHand vgg_by_hand(int batch) {
  ByHand net(static_cast<std::size_t>(batch));
  int in = 3, side = 32;
  for (int const width : {32, 64, 128}) {
    for (int i = 0; i < 2; ++i, in = width) {
      net.add<Convolution>(batch, in, width, side);
      net.add<Relu>(static_cast<std::size_t>(batch) * width * side * side);
    }
    net.add<Pool>(batch * width, side);
    side /= 2;
  }
  net.add<Linear>(batch, 2048, 512);
  net.add<Relu>(static_cast<std::size_t>(batch) * 512);
  net.add<Linear>(batch, 512, 10);
  return net;
}

struct Peer {
  const char* model;
  int batch;
  std::size_t inputs;
  ByHand net;
};

void compare(Peer& peer, int rounds) {
  using namespace tidemark::trainer;
  auto const found = find_model(peer.model, "tiny");
  auto const graph = read_model(found->text, found->variables);
  Choices const choices{.batch = static_cast<std::size_t>(peer.batch)};
  Session session(*graph, choices, {.rate = 1e-4f});
  Plan const plan = plan_training(*graph, session.fixed(), choices);
  Floats input(static_cast<std::size_t>(peer.batch) * peer.inputs);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = std::cos(static_cast<float>(i));
  double ours = 1e30, theirs = 1e30;
  for (int round = 0; round < rounds; ++round) {
    double const begin = processor_seconds();
    session.run(plan, static_cast<std::uint64_t>(round) + 1);
    double const middle = processor_seconds();
    peer.net.step(input);
    ours = std::min(ours, middle - begin);
    theirs = std::min(theirs, processor_seconds() - middle);
  }
  std::printf("%-6s batch %-4d  trainer %8.2f ms  by hand %8.2f ms  %.2f x\n", peer.model, peer.batch, 1e3 * ours,
              1e3 * theirs, ours / theirs);
}

}  // namespace

int main(int argc, char** argv) {
  bool const is_short = argc > 1 && std::string_view(argv[1]) == "--short";
  setenv("SOFTGPU_WORKERS", "1", 1);
  openblas_set_num_threads(1);
  Peer mlp{"mlp", is_short ? 16 : 128, 784, mlp_by_hand(is_short ? 16 : 128)};
  Peer vgg{"vgg", is_short ? 2 : 32, 3072, vgg_by_hand(is_short ? 2 : 32)};
  compare(mlp, is_short ? 2 : 15);
  compare(vgg, is_short ? 2 : 8);
  return 0;
}
