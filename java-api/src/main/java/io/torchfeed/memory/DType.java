// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import org.bytedeco.pytorch.global.torch.ScalarType;

/** The element type of a tensor that Java code writes. */
public enum DType {
  /** One byte, 0 or 1. */
  BOOL(1, ScalarType.Bool),
  /** Unsigned 8-bit integers; Java bytes are stored unchanged. */
  UINT8(1, ScalarType.Byte),
  /** 8-bit integers. */
  INT8(1, ScalarType.Char),
  /** 16-bit integers. */
  INT16(2, ScalarType.Short),
  /** 32-bit integers. */
  INT32(4, ScalarType.Int),
  /** 64-bit integers, the type of class labels. */
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
   * Returns the size of an element.
   *
   * @return the size in bytes
   */
  public int bytes() {
    return bytes;
  }

  /**
   * Returns libtorch's constant for the type.
   *
   * @return the constant of the JavaCPP presets
   */
  public ScalarType scalarType() {
    return scalarType;
  }
}
