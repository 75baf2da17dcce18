// SPDX-License-Identifier: Apache-2.0
#include "core/rows/row_gather.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/rows/row_prefetch.h"
#include "core/stream_copy.h"

namespace torchfeed {
namespace {

constexpr std::size_t kLinesOfCopiedRow = 8;
constexpr std::size_t kMostBytesAtOnce = std::size_t{4} << 20;

/// The rows `from` to `to` of a list, with a function of their position that returns their place.
template <class Place>
struct Part {
  std::span<const std::size_t> rows;
  std::size_t from;
  std::size_t to;
  Place place;
};

/// Copies rows of a fixed size, so that each copy compiles to one load and one store.
template <std::size_t kBytes, class Place>
void gather_fixed(std::byte* target, const std::byte* source, Part<Place> part) {
  for (std::size_t i = part.from; i < part.to; ++i) {
    std::memcpy(target + part.place(i) * kBytes, source + part.rows[i] * kBytes, kBytes);
  }
}

template <class Place>
void gather_streamed(std::byte* target, const std::byte* source, std::size_t row_bytes,
                     Part<Place> part) {
  for (std::size_t i = part.from; i < part.to; ++i) {
    stream_copy(target + part.place(i) * row_bytes, source + part.rows[i] * row_bytes, row_bytes);
  }
  end_streaming();
}

template <class Place>
void gather_part(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 Part<Place> part, Stores stores) {
  if (stores == Stores::kStreamed && row_bytes >= kLeastStreamed) {
    return gather_streamed(target, source, row_bytes, part);
  }
  switch (row_bytes) {
    case 1:
      return gather_fixed<1>(target, source, part);
    case 4:
      return gather_fixed<4>(target, source, part);
    case 8:
      return gather_fixed<8>(target, source, part);
    default:
      break;
  }
  for (std::size_t i = part.from; i < part.to; ++i) {
    if (i + kRowsAhead < part.to) {
      prefetch_row(source + part.rows[i + kRowsAhead] * row_bytes, row_bytes, kLinesOfCopiedRow);
    }
    std::memcpy(target + part.place(i) * row_bytes, source + part.rows[i] * row_bytes, row_bytes);
  }
}

bool stopped(const std::atomic<bool>& stop) { return stop.load(std::memory_order_relaxed); }

bool copy_long_row(std::byte* target, const std::byte* source, std::size_t row_bytes,
                   const std::atomic<bool>& stop, Stores stores) {
  for (std::size_t done = 0; done < row_bytes; done += kMostBytesAtOnce) {
    if (stopped(stop)) {
      return false;
    }
    const std::size_t bytes = std::min(kMostBytesAtOnce, row_bytes - done);
    constexpr std::array<std::size_t, 1> kThis = {0};
    const auto in_place = [](std::size_t i) { return i; };
    gather_part(target + done, source + done, bytes,
                Part<decltype(in_place)>{kThis, 0, 1, in_place}, stores);
  }
  return true;
}

template <class Place>
bool gather_to(Place place, std::byte* target, const std::byte* source, std::size_t row_bytes,
               std::span<const std::size_t> rows, const std::atomic<bool>& stop, Stores stores) {
  if (row_bytes > kMostBytesAtOnce) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!copy_long_row(target + place(i) * row_bytes, source + rows[i] * row_bytes, row_bytes,
                         stop, stores)) {
        return false;
      }
    }
    return true;
  }
  const std::size_t most = kMostBytesAtOnce / row_bytes;
  for (std::size_t done = 0; done < rows.size(); done += most) {
    if (stopped(stop)) {
      return false;
    }
    const std::size_t end = std::min(done + most, rows.size());
    gather_part(target, source, row_bytes, Part<Place>{rows, done, end, place}, stores);
  }
  return true;
}

}  // namespace

bool gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 const WantedRows& wanted, const std::atomic<bool>& stop, Stores stores) {
  if (row_bytes == 0) {
    return true;
  }
  // Two loops, so that the common one does not read the places.
  if (wanted.places.empty()) {
    return gather_to([](std::size_t i) { return i; }, target, source, row_bytes, wanted.rows, stop,
                     stores);
  }
  return gather_to([places = wanted.places](std::size_t i) { return places[i]; }, target, source,
                   row_bytes, wanted.rows, stop, stores);
}

}  // namespace torchfeed
