// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/record_column.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "core/stream_copy.h"

namespace torchfeed {
/// The images of one batch, and whether they have been requested from the disk.
class RecordColumn::Batch {
 public:
  Batch(const RecordColumn& column, const WantedRows& wanted) : column_(column), wanted_(wanted) {}

  /// Reads bytes of the file of the image `i` of the batch, waiting for the disk if need be.
  void read(std::size_t i, const ImageArchive& file, int64_t position, std::span<uint8_t> into) {
    if (!is_requested_) {
      if (file.read_cached(position, into)) {
        return;
      }
      is_requested_ = true;
      for (; i < wanted_.rows.size(); ++i) {
        const Place next = column_.place_of(wanted_.rows[i]);
        next.file.read_ahead(next.number);
      }
    }
    file.read(position, into);
  }

  /// Writes the row of the image `i` of the batch.
  void write(std::size_t i, const Place& place, std::byte* row, Stores stores) {
    const RecordRow image = place.file.row(place.number);
    const Stored stored(*this, i, place.file, image.offset);
    const ImageRecipe& recipe = column_.recipe_;
    const auto source =
        open_record(image, stored, memory_, recipe.follows_orientation, recipe.decoding);
    SampleWords words(wanted_.key.seed, wanted_.key.epoch,
                      static_cast<int64_t>(wanted_.indices()[i]));
    make_row(recipe, *source, words, row, stores);
  }

 private:
  /// The bytes of one image.
  class Stored final : public StoredBytes {
   public:
    Stored(Batch& batch, std::size_t i, const ImageArchive& file, int64_t offset)
        : batch_(batch), i_(i), file_(file), offset_(offset) {}

    void read(int64_t from, std::span<uint8_t> into) const override {
      batch_.read(i_, file_, offset_ + from, into);
    }

   private:
    Batch& batch_;
    const std::size_t i_;
    const ImageArchive& file_;
    const int64_t offset_;
  };

  const RecordColumn& column_;
  const WantedRows& wanted_;
  bool is_requested_ = false;
  RecordMemory memory_;
};

RecordColumn::RecordColumn(std::vector<SharedImages> files, const ImageRecipe& recipe, RowShape row)
    : RowColumn(images_of(files), std::move(row)), files_(std::move(files)), recipe_(recipe) {
  std::size_t end = 0;
  for (const SharedImages& file : files_) {
    end += file->images();
    ends_.push_back(end);
  }
}

RecordColumn::Place RecordColumn::place_of(std::size_t row) const {
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), row);
  const ImageArchive& file = *files_[static_cast<std::size_t>(end - ends_.begin())];
  return {file, row - (*end - file.images())};
}

bool RecordColumn::gather(std::byte* target, const WantedRows& wanted,
                          const std::atomic<bool>& stop, Stores stores) const {
  const Streaming streaming(stores);
  Batch batch(*this, wanted);
  for (std::size_t i = 0; i < wanted.rows.size(); ++i) {
    if (stop.load(std::memory_order_relaxed)) {
      return false;
    }
    const Place place = place_of(wanted.rows[i]);
    try {
      batch.write(i, place, target + static_cast<int64_t>(wanted.place(i)) * row().bytes, stores);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnreadable) {
        throw;
      }
      throw UnreadableRow(wanted.place(i), place.file.path() + ": image " +
                                               std::to_string(place.number) +
                                               " cannot be read: " + error.message());
    }
  }
  return true;
}

int64_t images_of(const std::vector<SharedImages>& files) {
  int64_t images = 0;
  for (const SharedImages& file : files) {
    images += static_cast<int64_t>(file->images());
  }
  return images;
}

std::vector<int64_t> labels_of(const std::vector<SharedImages>& files) {
  std::vector<int64_t> labels;
  labels.reserve(static_cast<std::size_t>(images_of(files)));
  for (const SharedImages& file : files) {
    for (std::size_t i = 0; i < file->images(); ++i) {
      labels.push_back(file->row(i).label);
    }
  }
  return labels;
}

}  // namespace torchfeed
