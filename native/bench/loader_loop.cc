// SPDX-License-Identifier: Apache-2.0
// The C++ side of examples/benchmarks/loaders: memcpy of random rows, which is the upper bound, and
// libtorch's own loader. Speaks the protocol of ContestantProgram.java.
#include <torch/data/dataloader.h>
#include <torch/data/datasets/base.h>
#include <torch/data/datasets/map.h>
#include <torch/data/samplers/random.h>
#include <torch/data/transforms/stack.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Example = torch::data::Example<>;

constexpr int64_t kImages = 4096;
constexpr int64_t kClasses = 1000;
constexpr uint64_t kSeed = 1;
constexpr size_t kRowsAhead = 4;  // that are prefetched by the loops that are the limit
constexpr std::string_view kTwoThreads = "-2-threads";  // suffix: two threads per operation
constexpr float kMean = 0.1307F;
constexpr float kDeviation = 0.3081F;
constexpr float kScale = 1 / (255 * kDeviation);
constexpr float kShift = -kMean / kDeviation;

struct Rows {
  at::Tensor data;
  at::Tensor labels;
  int64_t batch;
  bool normalize;  // uint8 to float, by the loader
};

struct Sums {
  bool on;
  int64_t labels = 0;
  double data = 0;

  void add(const at::Tensor& values, const at::Tensor& classes) {
    if (on) {
      labels += classes.sum().item<int64_t>();
      data += values.is_floating_point() ? values.sum(at::kDouble).item<double>()
                                         : static_cast<double>(values.sum().item<int64_t>());
    }
  }
};

at::Tensor read(const std::string& file, int64_t skip, at::IntArrayRef shape) {
  at::Tensor bytes = at::empty(shape, at::kByte);
  std::ifstream in(file, std::ios::binary);
  in.seekg(skip);
  in.read(reinterpret_cast<char*>(bytes.data_ptr<uint8_t>()), bytes.numel());
  if (!in) {
    throw std::runtime_error("cannot read " + file);
  }
  return bytes;
}

Rows load(const std::string& row, const std::string& folder) {
  if (row == "B") {
    return {read(folder + "/images.bin", 0, {kImages, 3, 224, 224}),
            at::arange(kImages, at::kLong).remainder(kClasses), 64, false};
  }
  const at::Tensor images = read(folder + "/train-images-idx3-ubyte", 16, {60'000, 1, 28, 28});
  const at::Tensor labels = read(folder + "/train-labels-idx1-ubyte", 8, {60'000}).to(at::kLong);
  return row == "C" ? Rows{images, labels, 256, true}
                    : Rows{images.to(at::kFloat).div_(255), labels, 256, false};
}

at::Tensor normalized(const at::Tensor& bytes) {
  return bytes.to(at::kFloat).mul_(kScale).add_(kShift);
}

/// A dataset that creates each batch with one gather of its rows.
class Gathered : public torch::data::datasets::BatchDataset<Gathered, Example> {
 public:
  explicit Gathered(Rows rows) : rows_(std::move(rows)) {}

  Example get_batch(at::ArrayRef<size_t> indices) override {
    const at::Tensor index = at::from_blob(const_cast<size_t*>(indices.data()),
                                           {static_cast<int64_t>(indices.size())}, at::kLong);
    const at::Tensor data = rows_.data.index_select(0, index);
    return {rows_.normalize ? normalized(data) : data, rows_.labels.index_select(0, index)};
  }

  std::optional<size_t> size() const override { return rows_.data.size(0); }

 private:
  Rows rows_;
};

/// A dataset that returns single samples, to be stacked.
class Single : public torch::data::datasets::Dataset<Single> {
 public:
  explicit Single(Rows rows) : rows_(std::move(rows)) {}

  Example get(size_t index) override {
    const auto at = static_cast<int64_t>(index);
    const at::Tensor data = rows_.data[at];
    return {rows_.normalize ? normalized(data) : data, rows_.labels[at]};
  }

  std::optional<size_t> size() const override { return rows_.data.size(0); }

 private:
  Rows rows_;
};

/// A loader that is kept, with its threads, from epoch to epoch; each call runs one epoch.
using Epoch = std::function<int64_t(Sums&)>;

template <class Dataset>
Epoch open(Dataset dataset, int64_t batch, size_t workers) {
  using Sampler = torch::data::samplers::RandomSampler;
  const auto loader = std::shared_ptr(torch::data::make_data_loader<Sampler>(
      std::move(dataset), torch::data::DataLoaderOptions(batch).workers(workers)));
  return [loader](Sums& sums) {
    int64_t rows = 0;
    for (const Example& example : *loader) {
      rows += example.target.size(0);
      sums.add(example.data, example.target);
    }
    return rows;
  };
}

/// Normalizes a row: compiled for each kind of processor, and the best of them is taken.
[[gnu::target_clones("default", "arch=haswell", "arch=skylake-avx512")]] void normalize(
    float* target, const uint8_t* source, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    target[i] = static_cast<float>(source[i]) * kScale + kShift;
  }
}

/// Requests a row that is read soon: rows are random, so the processor cannot predict them.
void prefetch(const char* row, size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kMost = 16 * kLine;
  for (size_t at = 0; at < std::min(bytes, kMost); at += kLine) {
    __builtin_prefetch(row + at);
  }
}

/// Copies one thread's share of an epoch: every `threads`-th batch, starting with batch `first`.
int64_t copy_batches(const Rows& rows, const std::vector<int64_t>& order, size_t first,
                     size_t threads, bool fresh, Sums& sums) {
  const auto batch = static_cast<size_t>(rows.batch);
  std::vector<int64_t> shape = rows.data.sizes().vec();
  shape[0] = rows.batch;
  const auto type = rows.normalize ? at::kFloat : rows.data.scalar_type();
  at::Tensor data = at::empty(shape, type);
  at::Tensor labels = at::empty({rows.batch}, at::kLong);
  const auto width = static_cast<size_t>(rows.data[0].numel());
  const size_t bytes = width * rows.data.element_size();
  const auto* source = static_cast<const char*>(rows.data.data_ptr());
  const int64_t* classes = rows.labels.data_ptr<int64_t>();
  int64_t copied = 0;
  for (size_t from = first * batch; from < order.size(); from += threads * batch) {
    if (fresh) {
      data = at::empty(shape, type);
      labels = at::empty({rows.batch}, at::kLong);
    }
    const size_t count = std::min(batch, order.size() - from);
    for (size_t i = 0; i < count; ++i) {
      const auto index = static_cast<size_t>(order[from + i]);
      const char* row = source + index * bytes;
      if (i + kRowsAhead < count) {
        prefetch(source + static_cast<size_t>(order[from + i + kRowsAhead]) * bytes, bytes);
      }
      if (rows.normalize) {
        normalize(data.data_ptr<float>() + i * width, reinterpret_cast<const uint8_t*>(row), width);
      } else {
        std::memcpy(static_cast<char*>(data.data_ptr()) + i * bytes, row, bytes);
      }
      labels.data_ptr<int64_t>()[i] = classes[index];
    }
    copied += static_cast<int64_t>(count);
    sums.add(data.slice(0, 0, static_cast<int64_t>(count)),
             labels.slice(0, 0, static_cast<int64_t>(count)));
  }
  return copied;
}

int64_t copy_epoch(const Rows& rows, const std::vector<int64_t>& order, size_t threads, bool fresh,
                   Sums& sums) {
  std::vector<std::thread> others;
  std::vector<int64_t> copied(threads);
  std::vector<Sums> parts(threads, Sums{sums.on});
  for (size_t i = 1; i < threads; ++i) {
    others.emplace_back(
        [&, i] { copied[i] = copy_batches(rows, order, i, threads, fresh, parts[i]); });
  }
  copied[0] = copy_batches(rows, order, 0, threads, fresh, parts[0]);
  for (std::thread& other : others) {
    other.join();
  }
  for (const Sums& part : parts) {
    sums.labels += part.labels;
    sums.data += part.data;
  }
  return std::accumulate(copied.begin(), copied.end(), int64_t{0});
}

std::vector<int64_t> shuffled(int64_t size, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(kSeed + epoch));
  return order;
}

/// The rows, and the loaders over them opened so far.
class Contestants {
 public:
  explicit Contestants(Rows rows) : rows_(std::move(rows)) {}

  const Rows& rows() const { return rows_; }

  /// Runs an epoch and returns its nanoseconds; for the copy variants, without the shuffle.
  int64_t epoch_nanos(const std::string& variant, size_t workers, uint64_t epoch, Sums& sums,
                      int64_t& loaded) {
    if (variant == "copy" || variant == "copy-fresh") {
      const std::vector<int64_t> order = shuffled(rows_.data.size(0), epoch);
      return nanos([&] {
        loaded +=
            copy_epoch(rows_, order, std::max<size_t>(workers, 1), variant == "copy-fresh", sums);
      });
    }
    const bool two_threads = variant.ends_with(kTwoThreads);
    at::set_num_threads(two_threads ? 2 : 1);
    const Epoch& loader = open_once(
        two_threads ? variant.substr(0, variant.size() - kTwoThreads.size()) : variant, workers);
    return nanos([&] { loaded += loader(sums); });
  }

 private:
  template <class Call>
  static int64_t nanos(const Call& call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    return (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
  }

  const Epoch& open_once(const std::string& variant, size_t workers) {
    const auto key = std::pair(variant, workers);
    const auto found = loaders_.find(key);
    if (found != loaders_.end()) {
      return found->second;
    }
    if (variant == "libtorch") {
      return loaders_[key] = open(Gathered(rows_), rows_.batch, workers);
    }
    if (variant == "libtorch-sample") {
      return loaders_[key] =
                 open(Single(rows_).map(torch::data::transforms::Stack<>()), rows_.batch, workers);
    }
    throw std::runtime_error("no variant " + variant);
  }

  Rows rows_;
  std::map<std::pair<std::string, size_t>, Epoch> loaders_;
};

std::string answer(Contestants& contestants, const std::string& request) {
  std::istringstream words(request);
  std::string verb;
  std::string variant;
  size_t workers = 0;
  int64_t milliseconds = 0;
  uint64_t epoch = 0;
  words >> verb >> variant >> workers >> milliseconds >> epoch;
  Sums sums{verb == "check"};
  std::ostringstream reply;
  int64_t loaded = 0;
  int64_t nanos = 0;
  int64_t epochs = 0;
  do {
    nanos += contestants.epoch_nanos(variant, workers, epoch++, sums, loaded);
    ++epochs;
  } while (nanos < milliseconds * 1'000'000);
  if (sums.on) {
    reply.precision(17);
    reply << loaded << ' ' << sums.labels << ' ' << sums.data;
  } else {
    const Rows& rows = contestants.rows();
    const int64_t batches = (rows.data.size(0) + rows.batch - 1) / rows.batch * epochs;
    reply << loaded << ' ' << batches << ' ' << nanos << " -1";
  }
  return reply.str();
}

}  // namespace

int main(int, char** arguments) {
  try {
    torch::manual_seed(kSeed);
    Contestants contestants(load(arguments[1], arguments[2]));
    std::cout << "ready" << std::endl;
    for (std::string request; std::getline(std::cin, request);) {
      std::cout << answer(contestants, request) << std::endl;
    }
  } catch (const std::exception& e) {
    std::cout << "missing " << e.what() << std::endl;
    return 1;
  }
}
