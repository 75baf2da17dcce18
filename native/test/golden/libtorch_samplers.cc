// SPDX-License-Identifier: Apache-2.0

// Prints the indices that libtorch's own samplers deliver over a grid of arguments: the golden file
// libtorch_samplers.txt. It uses no code of torchfeed. To regenerate the file, build the target
// libtorch_samplers and run it with the folders of libtorch and OpenBLAS in LD_LIBRARY_PATH.
// Each line is one pass:
//   <class> <arguments> count=<indices> hash=<h = 31h + x in signed 64 bits>
//   head=<first indices> tail=<last indices> batches=<B>:<full batches>+<rest>,...
//   overflow=<indices that are not in the dataset>
// If there are at most kListed indices, head holds them all and tail is empty.

#include <torch/data/samplers/distributed.h>
#include <torch/data/samplers/random.h>
#include <torch/data/samplers/sequential.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace samplers = torch::data::samplers;
using Sampler = samplers::Sampler<>;
using Factory = std::function<std::unique_ptr<Sampler>()>;

constexpr size_t kListed = 16;
constexpr size_t kShown = 4;
const std::vector<size_t> kSizes = {0,  1,  2,   3,    5,     7,     10,   11,
                                    12, 64, 100, 1000, 65535, 65536, 70000};
const std::vector<size_t> kWorldSizes = {1, 2, 3, 4, 5, 8};
const std::vector<size_t> kBatchSizes = {1, 3, 64};
const std::vector<size_t> kBatchSizesOfManyIndices = {64, 5000};
const std::vector<size_t> kEpochs = {0, 1, 2, 3, (size_t{1} << 32) + 1};
const std::vector<int64_t> kSeeds = {0, 1, 42, -1, (int64_t{1} << 32) + 7};

std::vector<size_t> read_in_batches(Sampler& sampler, size_t batch_size, std::string& sizes) {
  std::vector<size_t> all;
  size_t full = 0;
  size_t rest = 0;
  while (const auto batch = sampler.next(batch_size)) {
    batch->size() == batch_size ? ++full : rest = batch->size();
    all.insert(all.end(), batch->begin(), batch->end());
  }
  sizes = std::to_string(batch_size) + ':' + std::to_string(full) + '+' + std::to_string(rest);
  return all;
}

std::string joined(const std::vector<size_t>& values, size_t from, size_t to) {
  std::ostringstream out;
  for (size_t i = from; i < to; ++i) {
    out << (i == from ? "" : ",") << values[i];
  }
  return out.str();
}

void print_pass(const std::string& name, size_t n, const Factory& factory) {
  std::vector<size_t> indices;
  std::string batches;
  for (const size_t batch_size : n <= 1000 ? kBatchSizes : kBatchSizesOfManyIndices) {
    std::string sizes;
    const auto sampler = factory();
    auto read = read_in_batches(*sampler, batch_size, sizes);
    if (!batches.empty() && read != indices) {
      throw std::logic_error(name + ": the order depends on the batch size");
    }
    indices = std::move(read);
    batches += (batches.empty() ? "" : ",") + sizes;
  }
  uint64_t hash = 0;
  size_t overflow = 0;
  for (const size_t index : indices) {
    hash = 31 * hash + index;
    overflow += index >= n ? 1 : 0;
  }
  const size_t count = indices.size();
  const bool all = count <= kListed;
  std::cout << name << " count=" << count << " hash=" << static_cast<int64_t>(hash)
            << " head=" << joined(indices, 0, all ? count : kShown)
            << " tail=" << (all ? "" : joined(indices, count - kShown, count))
            << " batches=" << batches << " overflow=" << overflow << '\n';
}

void print_rank(size_t n, size_t world_size, size_t rank, bool pad) {
  std::ostringstream arguments;
  arguments << " n=" << n << " worldSize=" << world_size << " rank=" << rank << " pad=" << pad;
  print_pass("DistributedSequentialSampler" + arguments.str(), n, [=] {
    return std::make_unique<samplers::DistributedSequentialSampler>(n, world_size, rank, pad);
  });
  for (const size_t epoch : kEpochs) {
    print_pass("DistributedRandomSampler" + arguments.str() + " epoch=" + std::to_string(epoch), n,
               [=] {
                 auto sampler =
                     std::make_unique<samplers::DistributedRandomSampler>(n, world_size, rank, pad);
                 sampler->set_epoch(epoch);
                 sampler->reset();
                 return sampler;
               });
  }
}

void print_size(size_t n) {
  print_pass("SequentialSampler n=" + std::to_string(n), n,
             [=] { return std::make_unique<samplers::SequentialSampler>(n); });
  for (const int64_t seed : kSeeds) {
    for (const size_t epoch : kEpochs) {
      print_pass("RandomSampler n=" + std::to_string(n) + " seed=" + std::to_string(seed) +
                     " epoch=" + std::to_string(epoch),
                 n, [=] {
                   torch::manual_seed(static_cast<uint64_t>(seed) + epoch);
                   return std::make_unique<samplers::RandomSampler>(static_cast<int64_t>(n));
                 });
    }
  }
  for (const size_t world_size : kWorldSizes) {
    for (size_t rank = 0; rank < world_size; ++rank) {
      const bool shown = n <= 12 || rank == 0 || rank == world_size / 2 || rank == world_size - 1;
      if (shown) {
        print_rank(n, world_size, rank, true);
        print_rank(n, world_size, rank, false);
      }
    }
  }
}

}  // namespace

int main() {
  std::cout << "# program native/test/golden/libtorch_samplers.cc; libtorch " << TORCH_VERSION
            << "; standard library "
#ifdef __GLIBCXX__
            << "libstdc++ " << _GLIBCXX_RELEASE
#else
            << "other"
#endif
            << "; arguments none\n";
  for (const size_t n : kSizes) {
    print_size(n);
  }
  return 0;
}
