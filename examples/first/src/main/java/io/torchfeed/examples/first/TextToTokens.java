// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.SampleEncoder;
import io.torchfeed.data.source.TextLines;
import io.torchfeed.data.source.TextLines.TextLine;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Reads lines of text as batches of tokens, the numbers of their words in a vocabulary. */
final class TextToTokens {
  private record Words(List<String> vocabulary) implements SampleEncoder<TextLine> {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of("tokens", DType.INT64, 128)); // at most 128 tokens
    }

    @Override
    public List<VariableLength> variableLengths() {
      return List.of(VariableLength.padded(0).truncated()); // to the longest line of the batch
    }

    @Override
    public void write(TextLine line, SampleWriter sample) {
      String[] words = line.text().split(" ");
      sample.put(0, Arrays.stream(words).mapToLong(vocabulary::indexOf).toArray());
    }
  }

  public static void main(String[] args) throws IOException {
    Path file = args.length > 0 ? Path.of(args[0]) : SampleFiles.text();
    String[] words = ("<pad> " + Files.readString(file)).split("\\s+");
    List<String> vocabulary = Arrays.stream(words).distinct().toList();
    System.out.println("vocabulary " + vocabulary);
    TextLines lines = TextLines.of(List.of(file.toString()), 1); // read as one shard
    try (var loader =
        DataLoader.over(lines.encode(new Words(vocabulary))).batchSize(2).workers(1).build()) {
      for (Batch batch : loader.epoch(0)) {
        Tensor tokens = batch.tensor("tokens").contiguous(); // [lines, longest], padded with 0
        long[] row = new long[(int) tokens.size(1)];
        System.out.println("batch of shape " + Arrays.toString(tokens.sizes().vec().get()));
        for (int i = 0; i < batch.size(); i++) {
          tokens.select(0, i).data_ptr_long().get(row);
          long length = batch.tensor("tokens.lengths").select(0, i).item_long();
          System.out.println("tokens " + Arrays.toString(row) + " length " + length);
        }
      }
    }
  }
}
