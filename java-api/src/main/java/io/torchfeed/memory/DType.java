// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import org.bytedeco.pytorch.global.torch.ScalarType;

/** The type of a tensor's elements, where Java code writes them. */
public enum DType {
  /** One byte, 0 or 1. */
  BOOL(1, ScalarType.Bool),
  /** Unsigned 8-bit integers; Java's bytes as they are. */
  UINT8(1, ScalarType.Byte),
  /** 8-bit integers. */
  INT8(1, ScalarType.Char),
  /** 16-bit integers. */
  INT16(2, ScalarType.Short),
  /** 32-bit integers. */
  INT32(4, ScalarType.Int),
  /** 64-bit integers, what class labels are. */
  INT64(8, ScalarType.Long),
  /** Single precision. */
  FLOAT32(4, ScalarType.Float),
  /** Double precision. */
  FLOAT64(8, ScalarType.Double);

  private final int bytes;
  private final ScalarType scalarType;

  DType(int bytes, ScalarType scalarType) {
    this.bytes = bytes;
    this.scalarType = scalarType;
  }

  /**
   * The size of an element.
   *
   * @return bytes
   */
  public int bytes() {
    return bytes;
  }

  /**
   * libtorch's name of the type.
   *
   * @return the presets' constant
   */
  public ScalarType scalarType() {
    return scalarType;
  }
}
