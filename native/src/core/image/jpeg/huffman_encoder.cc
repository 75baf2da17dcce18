// SPDX-License-Identifier: Apache-2.0
#include "core/image/jpeg/huffman_encoder.h"

#include <algorithm>

#include "core/image/jpeg/jpeg_format.h"

namespace torchfeed {
namespace {

/// An item of a list of package-merge: a symbol, or two items of the list before.
struct Item {
  uint64_t weight;
  bool is_symbol;
};

/// Returns the length of the code of each weight; the weights ascend, the lengths do not.
std::vector<std::size_t> code_lengths(const std::vector<uint64_t>& weights) {
  std::array<std::vector<Item>, kLongestCode> lists;
  const std::vector<Item>* before = nullptr;
  for (std::vector<Item>& list : lists) {
    for (const uint64_t weight : weights) {
      list.push_back({weight, true});
    }
    for (std::size_t i = 0; before != nullptr && i + 1 < before->size(); i += 2) {
      list.push_back({(*before)[i].weight + (*before)[i + 1].weight, false});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Item& a, const Item& b) { return a.weight < b.weight; });
    before = &list;
  }
  std::vector<std::size_t> lengths(weights.size());
  std::size_t taken = 2 * weights.size() - 2;
  for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
    const auto end = list->begin() + static_cast<std::ptrdiff_t>(taken);
    const auto symbols = static_cast<std::size_t>(
        std::count_if(list->begin(), end, [](const Item& item) { return item.is_symbol; }));
    for (std::size_t i = 0; i < symbols; ++i) {
      ++lengths[i];
    }
    taken = 2 * (taken - symbols);
  }
  return lengths;
}

}  // namespace

HuffmanEncoder optimal_huffman(const std::array<uint64_t, 256>& frequencies) {
  HuffmanEncoder table;
  for (std::size_t symbol = 0; symbol < frequencies.size(); ++symbol) {
    if (frequencies[symbol] > 0) {
      table.symbols.push_back(static_cast<uint8_t>(symbol));
    }
  }
  std::stable_sort(table.symbols.begin(), table.symbols.end(),
                   [&](uint8_t a, uint8_t b) { return frequencies[a] > frequencies[b]; });
  if (table.symbols.empty()) {
    return table;
  }
  std::vector<uint64_t> weights{0};  // of the code of ones
  for (auto symbol = table.symbols.rbegin(); symbol != table.symbols.rend(); ++symbol) {
    weights.push_back(frequencies[*symbol]);
  }
  const std::vector<std::size_t> lengths = code_lengths(weights);
  uint32_t next = 0;
  std::size_t before = 0;
  for (std::size_t i = 0; i < table.symbols.size(); ++i) {
    const std::size_t bits = lengths[lengths.size() - 1 - i];
    next = i == 0 ? 0 : (next + 1) << (bits - before);
    before = bits;
    ++table.counts[bits - 1];
    table.codes[table.symbols[i]] = {next, static_cast<int>(bits)};
  }
  return table;
}

}  // namespace torchfeed
