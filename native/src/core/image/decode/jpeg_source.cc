// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/jpeg_source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/image/jpeg/jpeg_entropy.h"
#include "core/image/jpeg/jpeg_format.h"
#include "core/image/jpeg/mcu_decoder.h"
#include "core/image/pixels.h"

// jpeglib.h needs FILE and size_t declared before it.
#include <jerror.h>
#include <jpeglib.h>

namespace torchfeed {
namespace {

constexpr long kMaxMemory = 1L << 31;

/// An address modulo `kAlignment` at which libjpeg-turbo does not write rows past the caches, as it
/// does where its vectors are aligned: the rows are read at once.
constexpr std::size_t kAlignment = 32;
constexpr std::size_t kUnaligned = 8;

using Tables = std::array<std::unique_ptr<const NumberTable>, NUM_HUFF_TBLS>;

/// Our decoder of Huffman codes, in the place of libjpeg's.
struct FastHuffman {
  Tables dc;
  Tables ac;
  std::optional<McuDecoder> mcus;
  const uint8_t* data = nullptr;  // of the scan
  std::size_t bytes = 0;
  int64_t mcus_left = 0;
  bool has_given_up = false;
};

/// The decoder of libjpeg. Its callbacks leave by `longjmp`, so the functions that call it have no
/// object with a destructor.
struct Decoder {
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&info); }

  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf on_error{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  bool is_other_kind = false;  // if there is a message: of JPEGs that are not decoded
  std::optional<FastHuffman> huffman;
};

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

/// Returns whether an error says that a JPEG is of a kind that libjpeg does not decode.
bool names_a_kind(int error) {
  return error == JERR_ARITH_NOTIMPL || error == JERR_BAD_PRECISION ||
         error == JERR_CCIR601_NOTIMPL || error == JERR_COMPONENT_COUNT ||
         error == JERR_CONVERSION_NOTIMPL || error == JERR_FRACT_SAMPLE_NOTIMPL ||
         error == JERR_NOTIMPL || error == JERR_NOT_COMPILED || error == JERR_SOF_UNSUPPORTED;
}

[[noreturn]] void fail(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  decoder.is_other_kind = names_a_kind(info->err->msg_code);
  info->err->format_message(info, decoder.message.data());
  std::longjmp(decoder.on_error, 1);
}

/// Returns whether Python decodes such a file silently, and all of its pixels are there.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_JFIF_MAJOR || warning == JWRN_BOGUS_ICC || warning == JWRN_NOT_SEQUENTIAL;
}

void on_message(j_common_ptr info, int level) {
  if (level < 0 && !is_harmless(info->err->msg_code)) {
    fail(info);
  }
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    Decoder& decoder = decoder_of(info);
    decoder.is_other_kind = true;
    std::snprintf(decoder.message.data(), decoder.message.size(),
                  "a JPEG must have at most %d scans", kMaxScans);
    std::longjmp(decoder.on_error, 1);
  }
}

bool read_header(Decoder& decoder, const uint8_t* encoded, std::size_t length) {
  jpeg_decompress_struct& info = decoder.info;
  info.err = jpeg_std_error(&decoder.errors);
  info.client_data = &decoder;
  decoder.errors.error_exit = fail;
  decoder.errors.emit_message = on_message;
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  jpeg_create_decompress(&info);
  info.mem->max_memory_to_use = kMaxMemory;
  decoder.progress.progress_monitor = on_progress;
  info.progress = &decoder.progress;
  jpeg_mem_src(&info, encoded, length);
  jpeg_read_header(&info, TRUE);
  return true;
}

/// Returns whether an image is stored without a transform, sample by sample. Then
/// libjpeg cannot leave out columns or rows, or convert gray samples.
bool is_lossless(const jpeg_decompress_struct& info) { return info.min_DCT_scaled_size == 1; }

bool start(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  const bool has_black = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  const bool stays_gray = is_lossless(info) && info.jpeg_color_space == JCS_GRAYSCALE;
  info.out_color_space = has_black ? JCS_CMYK : stays_gray ? JCS_GRAYSCALE : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&info);
  return true;
}

std::atomic<bool>& fast_huffman_is_allowed() {
  static std::atomic<bool> is_allowed{true};
  return is_allowed;
}

boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  Decoder& decoder = *static_cast<Decoder*>(info->client_data);
  FastHuffman& huffman = *decoder.huffman;
  if (!huffman.mcus->decode(blocks)) {
    huffman.has_given_up = true;
    std::longjmp(decoder.on_error, 1);
  }
  if (--huffman.mcus_left == 0) {  // libjpeg reads on after the scan
    const std::size_t read = huffman.mcus->marker();
    info->src->next_input_byte = huffman.data + read;
    info->src->bytes_in_buffer = huffman.bytes - read;
  }
  return TRUE;
}

const NumberTable* table_of(Tables& tables, const JHUFF_TBL* const* stored, int number,
                            NumberTable::Kind kind) {
  auto& table = tables.at(static_cast<std::size_t>(number));
  if (!table) {
    const JHUFF_TBL& codes = *stored[number];
    const std::span counts = std::span(codes.bits).subspan(1);
    const int symbols = std::accumulate(counts.begin(), counts.end(), 0);
    table = std::make_unique<const NumberTable>(
        kind, counts, std::span(codes.huffval).first(static_cast<std::size_t>(symbols)));
  }
  return table.get();
}

/// Decodes the Huffman codes of an image that has started, if it is of the usual kind.
void decode_huffman_fast(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  if (info.progressive_mode || info.arith_code || is_lossless(info) || info.data_precision != 8 ||
      jpeg_has_multiple_scans(&info) || !fast_huffman_is_allowed()) {
    return;
  }
  EntropyDecoder* const entropy = known_entropy(info);
  if (entropy == nullptr) {
    return;
  }
  FastHuffman& huffman = decoder.huffman.emplace();
  std::vector<McuDecoder::Part> parts;
  try {
    for (int block = 0; block < info.blocks_in_MCU; ++block) {
      const int component = info.MCU_membership[block];
      const jpeg_component_info& described = *info.cur_comp_info[component];
      parts.push_back(
          {static_cast<std::size_t>(component),
           table_of(huffman.dc, info.dc_huff_tbl_ptrs, described.dc_tbl_no, NumberTable::Kind::kDc),
           table_of(huffman.ac, info.ac_huff_tbl_ptrs, described.ac_tbl_no,
                    NumberTable::Kind::kAc)});
    }
  } catch (const UnsupportedJpeg&) {
    decoder.huffman.reset();
    return;
  }
  huffman.data = info.src->next_input_byte;
  huffman.bytes = info.src->bytes_in_buffer;
  huffman.mcus.emplace(std::span(huffman.data, huffman.bytes), std::move(parts),
                       info.restart_interval);
  huffman.mcus_left = int64_t{info.MCUs_per_row} * info.MCU_rows_in_scan;
  entropy->decode_mcu = decode_mcu;
}

/// Returns whether libjpeg smooths between the blocks of a progressive JPEG whose last scans are
/// missing. It does so from blocks two away, but not from those that a crop leaves out.
bool is_smoothed(const jpeg_decompress_struct& info) {
  if (!info.progressive_mode || info.coef_bits == nullptr) {
    return false;
  }
  for (int component = 0; component < info.num_components; ++component) {
    const auto& bits = info.coef_bits[component];  // 0 if nothing is missing
    if (std::any_of(std::begin(bits), std::end(bits), [](int missing) { return missing != 0; })) {
      return true;
    }
  }
  return false;
}

/// Goes to the row `region.top`, and decodes only the columns of the region with a margin, unless
/// the image is smoothed or lossless.
///
/// @param first  receives the number of the first column decoded
bool go_to(Decoder& decoder, const Region& region, JDIMENSION& first) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  if (is_lossless(info)) {
    first = 0;
    const std::size_t bytes = static_cast<std::size_t>(info.output_width) *
                              static_cast<std::size_t>(info.output_components);
    auto* row = static_cast<JSAMPROW>(
        info.mem->alloc_large(reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, bytes));
    for (int64_t y = 0; y < region.top; ++y) {
      jpeg_read_scanlines(&info, &row, 1);
    }
    return true;
  }
  const int64_t margin =
      is_smoothed(info) ? info.output_width : int64_t{DCTSIZE} * info.max_h_samp_factor;
  const int64_t left = std::max<int64_t>(0, region.left - margin);
  const int64_t right = std::min<int64_t>(info.output_width, region.left + region.width + margin);
  first = 0;
  if (right - left < info.output_width) {
    first = static_cast<JDIMENSION>(left);
    auto width = static_cast<JDIMENSION>(right - left);
    jpeg_crop_scanline(&info, &first, &width);
  }
  if (region.top > 0) {
    jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(region.top));
  }
  return true;
}

/// Decodes a row. After the last one of the image, requires that nothing is missing.
bool read_row(Decoder& decoder, uint8_t* row) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  jpeg_read_scanlines(&info, &row, 1);
  if (info.output_scanline == info.output_height) {
    jpeg_finish_decompress(&info);
  }
  return true;
}

/// Converts pixels of stored, that is inverted, cyan, magenta, yellow and black.
void cmyk_to_rgb(uint8_t* rgb, const uint8_t* cmyk, int64_t width) {
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t black = cmyk[4 * x + 3];
    for (int64_t c = 0; c < 3; ++c) {
      const auto inverted = static_cast<uint8_t>(255 - cmyk[4 * x + c]);
      rgb[3 * x + c] = static_cast<uint8_t>(std::max(0, black - product(black, inverted)));
    }
  }
}

class JpegSource final : public ImageSource {
 public:
  JpegSource(std::span<const uint8_t> encoded, int64_t max_pixels) : encoded_(encoded) {
    open();
    const jpeg_decompress_struct& info = decoder_->info;
    require_pixels(info.image_width, info.image_height, max_pixels);
    if (info.jpeg_color_space == JCS_UNKNOWN) {
      throw_unsupported("a JPEG must be grey, RGB, YCC, CMYK or YCCK, got " +
                        std::to_string(info.num_components) + " components");
    }
  }

  [[nodiscard]] int64_t width() const override { return decoder_->info.image_width; }
  [[nodiscard]] int64_t height() const override { return decoder_->info.image_height; }

  void begin(const Region& region) override {
    region_ = region;
    check(start(*decoder_));
    decode_huffman_fast(*decoder_);
    JDIMENSION first = 0;
    if (!go_to(*decoder_, region_, first)) {
      first = restart_with_libjpeg();
    }
    const auto components = static_cast<std::size_t>(decoder_->info.output_components);
    skipped_ = (static_cast<std::size_t>(region.left) - first) * components;
    buffer_.resize(decoder_->info.output_width * components + kRowSlack + kAlignment);
    const auto address = reinterpret_cast<std::uintptr_t>(buffer_.data());
    row_ = buffer_.data() + (kAlignment + kUnaligned - address % kAlignment) % kAlignment;
    if (components != 3) {
      rgb_.resize(3 * static_cast<std::size_t>(region.width) + kRowSlack);
    }
  }

  const uint8_t* next_row() override {
    if (!read_row(*decoder_, row_)) {
      restart_with_libjpeg();
      for (int64_t row = 0; row <= rows_; ++row) {
        check(read_row(*decoder_, row_));
      }
    }
    ++rows_;
    const uint8_t* const row = row_ + skipped_;
    if (rgb_.empty()) {
      return row;
    }
    if (decoder_->info.output_components == 1) {
      for (std::size_t i = 0; i < rgb_.size() - kRowSlack; ++i) {
        rgb_[i] = row[i / 3];
      }
    } else {
      cmyk_to_rgb(rgb_.data(), row, region_.width);
    }
    return rgb_.data();
  }

 private:
  void open() {
    decoder_.emplace();
    check(read_header(*decoder_, encoded_.data(), encoded_.size()));
  }

  /// Begins again with libjpeg's own decoder of Huffman codes, if the data are not valid for ours:
  /// it decodes more kinds, and has the messages for all others.
  ///
  /// @return the number of the first column decoded
  JDIMENSION restart_with_libjpeg() {
    if (!decoder_->huffman || !decoder_->huffman->has_given_up) {
      refuse();
    }
    open();
    JDIMENSION first = 0;
    check(start(*decoder_) && go_to(*decoder_, region_, first));
    return first;
  }

  void check(bool succeeded) const {
    if (!succeeded) {
      refuse();
    }
  }

  [[noreturn]] void refuse() const {
    const std::string reason = decoder_->message.data();
    decoder_->is_other_kind ? throw_unsupported(reason) : throw_damaged(reason);
  }

  const std::span<const uint8_t> encoded_;
  std::optional<Decoder> decoder_;
  Region region_{};
  int64_t rows_ = 0;         // of the region, decoded
  std::size_t skipped_ = 0;  // bytes of a decoded row before the region
  std::vector<uint8_t> buffer_;
  uint8_t* row_ = nullptr;    // as decoded, in the buffer
  std::vector<uint8_t> rgb_;  // of an image with black, or a gray lossless one
};

}  // namespace

void allow_fast_huffman(bool is_allowed) { fast_huffman_is_allowed() = is_allowed; }

std::unique_ptr<ImageSource> open_jpeg(std::span<const uint8_t> encoded, int64_t max_pixels) {
  return std::make_unique<JpegSource>(encoded, max_pixels);
}

}  // namespace torchfeed
