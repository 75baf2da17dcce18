// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import org.bytedeco.cuda.global.nvjpeg;

/** The meanings of the statuses of nvJPEG. */
final class NvJpegStatus {
  private NvJpegStatus() {}

  /** Throws an {@link ImageException} if a status says that an image cannot be read. */
  static void requireReadable(int status) {
    switch (status) {
      case nvjpeg.NVJPEG_STATUS_BAD_JPEG, nvjpeg.NVJPEG_STATUS_INCOMPLETE_BITSTREAM ->
          throw new ImageException("not a whole JPEG, or a damaged one: " + name(status));
      case nvjpeg.NVJPEG_STATUS_JPEG_NOT_SUPPORTED,
          nvjpeg.NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED ->
          throw new ImageException("a JPEG of a kind that nvJPEG does not read: " + name(status));
      default -> require("the decoding of a JPEG on the device", status);
    }
  }

  /** Throws an {@link IllegalStateException} unless the status is success. */
  static void require(String what, int status) {
    if (status != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      throw new IllegalStateException(what + " failed: " + name(status));
    }
  }

  private static String name(int status) {
    return switch (status) {
      case nvjpeg.NVJPEG_STATUS_NOT_INITIALIZED -> "NVJPEG_STATUS_NOT_INITIALIZED";
      case nvjpeg.NVJPEG_STATUS_INVALID_PARAMETER -> "NVJPEG_STATUS_INVALID_PARAMETER";
      case nvjpeg.NVJPEG_STATUS_BAD_JPEG -> "NVJPEG_STATUS_BAD_JPEG";
      case nvjpeg.NVJPEG_STATUS_JPEG_NOT_SUPPORTED -> "NVJPEG_STATUS_JPEG_NOT_SUPPORTED";
      case nvjpeg.NVJPEG_STATUS_ALLOCATOR_FAILURE -> "NVJPEG_STATUS_ALLOCATOR_FAILURE";
      case nvjpeg.NVJPEG_STATUS_EXECUTION_FAILED -> "NVJPEG_STATUS_EXECUTION_FAILED";
      case nvjpeg.NVJPEG_STATUS_ARCH_MISMATCH -> "NVJPEG_STATUS_ARCH_MISMATCH";
      case nvjpeg.NVJPEG_STATUS_INTERNAL_ERROR -> "NVJPEG_STATUS_INTERNAL_ERROR";
      case nvjpeg.NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED ->
          "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED";
      case nvjpeg.NVJPEG_STATUS_INCOMPLETE_BITSTREAM -> "NVJPEG_STATUS_INCOMPLETE_BITSTREAM";
      default -> "status " + status;
    };
  }
}
