// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.memory.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * The format of {@code numpy.save}, versions 1.0 to 3.0: a magic, the version, the length of the
 * header, and the header, a Python dictionary of dtype, order and shape.
 */
final class NpyFormat {
  private static final long MAGIC = 0x934E554D5059L; // "\x93NUMPY"
  private static final int VERSION_AT = 6;
  private static final int LENGTH_AT = 8;
  private static final int MAX_HEADER = 1 << 20;

  /** Little-endian, big-endian, and two for the machine's order; numpy also reads none. */
  private static final String ORDERS = "<>=|";

  private static final Map<String, DType> DTYPES =
      Map.ofEntries(
          Map.entry("b1", DType.BOOL),
          Map.entry("?", DType.BOOL),
          Map.entry("u1", DType.UINT8),
          Map.entry("i1", DType.INT8),
          Map.entry("i2", DType.INT16),
          Map.entry("i4", DType.INT32),
          Map.entry("i8", DType.INT64),
          Map.entry("u2", DType.UINT16),
          Map.entry("u4", DType.UINT32),
          Map.entry("u8", DType.UINT64),
          Map.entry("f2", DType.FLOAT16),
          Map.entry("f4", DType.FLOAT32),
          Map.entry("f8", DType.FLOAT64),
          Map.entry("c8", DType.COMPLEX64),
          Map.entry("c16", DType.COMPLEX128));

  private NpyFormat() {}

  /**
   * An array.
   *
   * @param fortranOrder whether the first index varies fastest
   * @param offsetBytes the bytes before its elements
   */
  record Array(
      DType dtype,
      ByteOrder order,
      boolean fortranOrder,
      @SuppressWarnings("ArrayRecordComponent") long[] shape, // never compared
      long offsetBytes) {
    /** Returns whether the elements are also in C order. */
    boolean isInCOrder() {
      return !fortranOrder
          || LongStream.of(shape).anyMatch(size -> size == 0)
          || LongStream.of(shape).filter(size -> size != 1).count() <= 1;
    }
  }

  /** Returns the rows of a file. */
  static RowFile read(FileHead file) {
    Array array = array(file);
    if (array.shape().length == 0) {
      throw file.refused("must have a dimension of rows", "an npy file of one number");
    }
    if (!array.isInCOrder()) {
      throw file.refused(
          "must be in C order, with contiguous rows",
          "fortran_order: True; save numpy.ascontiguousarray of it, or read it by NumpyFile");
    }
    return RowFile.dense(file, array.dtype(), array.order(), array.offsetBytes(), array.shape());
  }

  /** Returns whether a file begins as one of {@code numpy.save}. */
  static boolean isNpy(FileHead file) {
    return file.size() >= LENGTH_AT && isNpy(file.bytes(0, LENGTH_AT, "the magic of an npy file"));
  }

  private static boolean isNpy(ByteBuffer begin) {
    return begin.getLong(0) >>> 16 == MAGIC;
  }

  /** Reads the header; asks for none of the bytes behind it, unless it is malformed. */
  static Array array(FileHead file) {
    if (file.size() < LENGTH_AT) {
      throw file.notThisFormat("must begin with the magic of an npy file, 93 4e 55 4d 50 59");
    }
    ByteBuffer begin = file.bytes(0, LENGTH_AT, "the magic of an npy file");
    if (!isNpy(begin)) {
      throw file.notThisFormat("must begin with the magic of an npy file, 93 4e 55 4d 50 59");
    }
    int version = begin.get(VERSION_AT);
    if (version < 1 || version > 3) {
      throw file.refused("must be an npy file of version 1 to 3", "version " + version);
    }
    int lengthBytes = version == 1 ? 2 : 4;
    ByteBuffer length =
        file.bytes(LENGTH_AT, lengthBytes, "the length of the npy header")
            .order(ByteOrder.LITTLE_ENDIAN);
    long headerBytes =
        version == 1
            ? Short.toUnsignedInt(length.getShort())
            : Integer.toUnsignedLong(length.getInt());
    if (headerBytes > MAX_HEADER) {
      throw file.refused(
          "must have an npy header of at most %d bytes".formatted(MAX_HEADER),
          "one of " + headerBytes);
    }
    ByteBuffer text = file.bytes(LENGTH_AT + lengthBytes, (int) headerBytes, "the npy header");
    return arrayOf(
        file,
        NpyHeader.parse(file, UTF_8.decode(text).toString()),
        LENGTH_AT + lengthBytes + headerBytes);
  }

  private static Array arrayOf(FileHead file, NpyHeader header, long offsetBytes) {
    String descr = header.descr();
    boolean hasOrder = !descr.isEmpty() && ORDERS.indexOf(descr.charAt(0)) >= 0;
    DType dtype = DTYPES.get(hasOrder ? descr.substring(1) : descr);
    if (dtype == null) {
      throw file.refused(
          "must be of an integer, floating point, complex or boolean dtype",
          "'" + FieldFormat.quote(descr) + "'; convert it with numpy's astype");
    }
    return new Array(
        dtype,
        descr.charAt(0) == '>' ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN,
        header.fortranOrder(),
        header.shape(),
        offsetBytes);
  }
}
