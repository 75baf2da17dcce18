// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.IndexedTensors;
import io.torchfeed.checkpoint.SafetensorsFile;
import io.torchfeed.checkpoint.TorchFile;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.compiled.CompiledModel;
import io.torchfeed.data.BatchMix;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.DecodedFolder;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.ImageDecoder;
import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.NumpyFile;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.data.source.TextRows;
import io.torchfeed.distributed.AsyncCollectives;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.KeyValueStore;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.PythonProcessGroup;
import io.torchfeed.distributed.Work;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.JobSecret;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.AveragingAlgorithm;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.PythonDataParallel;
import io.torchfeed.distributed.training.SingleModel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.distributed.training.UnevenInputs;
import io.torchfeed.elastic.ElasticGroup;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.elastic.Generations;
import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.BipartiteGraph;
import io.torchfeed.graph.CsrMatrix;
import io.torchfeed.graph.DenseRows;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.Edges;
import io.torchfeed.graph.ErrorPolicy;
import io.torchfeed.graph.IdMap;
import io.torchfeed.graph.LineParser;
import io.torchfeed.graph.LocalRanks;
import io.torchfeed.graph.SparseMatrix;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImagePlanBuilder;
import io.torchfeed.image.ImageTensorPlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.RowTransform;
import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.balance.BalanceReport;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.order.BackAndForth;
import io.torchfeed.sampler.order.ClassBalancedSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.DividedSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.MixedSampler;
import io.torchfeed.sampler.order.ShardShuffleSampler;
import io.torchfeed.sampler.order.ShardedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.summary.SummaryWriter;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.EvaluationOptions;
import io.torchfeed.training.LearningRate;
import io.torchfeed.training.Plateau;
import io.torchfeed.training.PlateauOptions;
import io.torchfeed.training.Progress;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.Schedule;
import io.torchfeed.training.StateStore;
import io.torchfeed.training.TrainingLoop;
import io.torchfeed.training.TrainingLoopBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** Makers of objects that {@link SampleArguments} cannot make by a static method alone. */
final class SampleTable {
  private final SampleArguments all;
  private final Path folder;

  SampleTable(SampleArguments all, Path folder) {
    this.all = all;
    this.folder = folder;
  }

  void fill() {
    addValues();
    addPlans();
    addData();
    addGroups();
    SampleMetrics.addTo(all);
    SampleColumns.addTo(all);
  }

  private void addValues() {
    all.put(Integer.class, () -> 1);
    all.put(Long.class, () -> 1L);
    all.put(Short.class, () -> (short) 1);
    all.put(Byte.class, () -> (byte) 1);
    all.put(Float.class, () -> 0.5f);
    all.put(Double.class, () -> 0.5);
    all.put(Boolean.class, () -> false);
    all.put(String.class, () -> "1");
    all.put(Duration.class, () -> Duration.ofSeconds(1));
    all.put(Instant.class, () -> Instant.EPOCH);
    all.put(Object.class, () -> "1");
    all.put(Class.class, () -> String.class);
    all.put(Throwable.class, () -> new IllegalStateException("a failure"));
    all.put(RuntimeException.class, () -> new IllegalStateException("a failure"));
    all.put(OptionalInt.class, OptionalInt::empty);
    all.put(OptionalLong.class, OptionalLong::empty);
    all.put(ByteOrder.class, () -> ByteOrder.BIG_ENDIAN);
    all.put(ByteBuffer.class, () -> ByteBuffer.allocate(1));
    all.put(FileTime.class, () -> FileTime.fromMillis(0));
    all.put(Path.class, () -> Files.writeString(folder.resolve("file"), "1\n"));
    all.put(URI.class, () -> URI.create("http://127.0.0.1:1/a"));
    all.put(HttpClient.class, HttpClient::newHttpClient);
    all.put(Tensor.class, () -> Tensor.create(new float[] {1, 2}, 2));
    all.put(TensorVector.class, TensorVector::new);
    all.put(Module.class, () -> new LinearImpl(1, 1));
    all.put(
        Optimizer.class, () -> new SGD(all.get(Module.class).parameters(), new SGDOptions(0.5)));
  }

  private void addPlans() {
    all.put(Part.class, Part::whole);
    all.put(Sampler.class, () -> SequentialSampler.of(4));
    all.put(BatchSampler.class, () -> FixedSizeBatchSampler.of(SequentialSampler.of(4), 2));
    all.put(PlanParameters.class, () -> SequentialSampler.of(4).parameters());
    all.put(SamplerState.class, () -> SamplerState.of(SequentialSampler.of(4), 0, 0));
    all.put(MixedSampler.Source.class, () -> new MixedSampler.Source(SequentialSampler.of(4), 0));
    all.put(ShardShuffleSampler.class, () -> ShardShuffleSampler.of(new long[] {2, 2}, 1, 1));
    all.put(LoadBalancingDistributedSampler.Builder.class, this::balanced);
    all.put(LoadBalancingDistributedSampler.class, () -> balanced().build());
    all.put(
        DistributedBatchSampler.class,
        () -> DistributedBatchSampler.ofWholeBatches(all.get(Sampler.class), 1, Part.whole()));
    all.put(
        ShardedSampler.class,
        () -> ShardedSampler.strided(all.get(ShardShuffleSampler.class), Part.whole()));
    all.put(
        DividedSampler.class,
        () -> new BackAndForth(ShuffledSampler.of(4, 1), Part.whole(), Tail.PAD));
    all.put(ClassBalancedSampler.Builder.class, () -> ClassBalancedSampler.ofLabels(2, 0, 1, 0, 1));
    all.put(BalanceReport.Reader.class, () -> BalanceReport.over(Costs.of(1, 2), 1));
    all.put(ResumableCursor.OfIndices.class, () -> ResumableCursor.open(all.get(Sampler.class), 0));
    all.put(
        ResumableCursor.OfBatches.class,
        () -> ResumableCursor.open(all.get(BatchSampler.class), 0));
  }

  private LoadBalancingDistributedSampler.Builder balanced() {
    return LoadBalancingDistributedSampler.builder(Costs.of(1, 2), Part.whole(), 1);
  }

  private void addData() {
    float[] halves = {0.5f, 0.5f, 0.5f};
    all.put(ImagePlanBuilder.class, ImagePlan::builder);
    all.put(ImageTensorPlan.class, () -> ImageTensorPlan.normalize(halves, halves));
    all.put(ImageList.class, this::images);
    all.put(
        DecodedFolder.class,
        () ->
            DecodedFolder.of(all.get(ImageList.class), ImageDecoder.of(all.get(ImagePlan.class))));
    all.put(BatchMix.class, () -> BatchMix.mixUp(0.5, 2));
    all.put(TextRows.class, () -> TextRows.separatedBy(",", List.of(RowSpec.of(DType.FLOAT32, 1))));
    all.put(RowTransform.Builder.class, RowTransform::builder);
    all.put(ImagePlan.class, () -> ImagePlan.builder().resize(2, 2).build());
    all.put(RowTransform.class, () -> RowTransform.builder().scale(2).build());
    all.put(Slab.class, () -> Slab.allocate(List.of(RowSpec.of(DType.FLOAT32, 2)), 1));
    all.put(
        FileDataset.class,
        () -> FileDataset.of(FileColumn.raw(RowLayout.of(DType.UINT8, 1), all.get(Path.class))));
    all.put(NativeDataset.class, () -> all.get(TensorDataset.class));
    all.put(TensorDataset.class, () -> TensorDataset.of(all.get(Tensor.class)));
    all.put(DataLoaderBuilder.class, () -> DataLoader.over(all.get(TensorDataset.class)));
    all.put(DataLoader.class, () -> all.get(DataLoaderBuilder.class).batchSize(1).build());
    all.put(Batches.class, () -> all.get(DataLoader.class).epoch(0));
    all.put(Batch.class, () -> all.get(Batches.class).next());
    all.put(LoaderState.class, () -> all.get(Batches.class).state());
    all.put(
        TextPartition.class, () -> TextPartition.plan(List.of(all.get(Path.class).toString()), 1));
    all.put(EdgeLoader.Builder.class, () -> EdgeLoader.over(all.get(TextPartition.class)));
    all.put(EdgeLoader.class, () -> all.get(EdgeLoader.Builder.class).build());
    all.put(Edges.class, this::edges);
    all.put(IdMap.class, () -> all.get(Edges.class).firstIds());
    all.put(CsrMatrix.class, () -> all.get(BipartiteGraph.class).edges());
    all.put(DenseRows.class, this::rows);
    all.put(SparseMatrix.class, this::matrix);
    all.put(LineCursor.class, () -> all.get(TextPartition.class).open(0));
    addCheckpoints();
  }

  private void addCheckpoints() {
    Map<String, Tensor> tensors = Map.of("one", Tensor.create(new float[] {1}, 1));
    Path file = folder.resolve("tensors");
    all.put(Checkpoints.class, () -> Checkpoints.open(folder.resolve("checkpoints")));
    all.put(TrainingState.Builder.class, TrainingState::builder);
    all.put(
        TrainingState.class,
        () -> TrainingState.builder().number("one", () -> 1, value -> {}).build());
    all.put(
        SafetensorsFile.class,
        () -> {
          SafetensorsFile.write(file, tensors, Map.of());
          return SafetensorsFile.open(file);
        });
    all.put(
        CompiledModel.class,
        () -> {
          Path net = folder.resolve("net.pt2");
          try (InputStream in =
              SampleTable.class.getResourceAsStream("/golden/packages/2.10.pt2")) {
            Files.copy(requireNonNull(in), net);
          }
          return CompiledModel.open(net);
        });
    all.put(
        TorchFile.class,
        () -> {
          TorchFile.write(folder.resolve("tensors.pt"), tensors);
          return TorchFile.open(folder.resolve("tensors.pt"));
        });
    all.put(
        IndexedTensors.class,
        () -> {
          SafetensorsFile.write(folder.resolve("part.safetensors"), tensors, Map.of());
          Path index = folder.resolve("index.json");
          Files.writeString(index, "{\"weight_map\": {\"one\": \"part.safetensors\"}}");
          return IndexedTensors.open(index);
        });
    all.put(
        NumpyFile.class,
        () -> {
          String header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
          Path array = folder.resolve("array.npy");
          Files.writeString(
              array, "\u0093NUMPY\u0001\0v\0%-117s\n\u0007".formatted(header), ISO_8859_1);
          return NumpyFile.open(array);
        });
  }

  private ImageList images() throws IOException {
    Path root = folder.resolve("images");
    Files.createDirectories(root.resolve("class"));
    Files.createFile(root.resolve("class").resolve("image.png"));
    return ImageList.of(root);
  }

  private DenseRows rows() throws IOException {
    Path file = Files.writeString(folder.resolve("rows"), "a,1\n");
    return DenseRows.read(
        TextPartition.plan(List.of(file.toString()), 1),
        0,
        LineParser.separatedBy(","),
        ErrorPolicy.SKIP);
  }

  private SparseMatrix matrix() throws IOException {
    EdgeLoader loader = loader();
    return LocalRanks.run(
            1,
            (int rank, AllToAll exchange) -> SparseMatrix.of(loader.load(rank, exchange), exchange))
        .get(0);
  }

  private EdgeLoader loader() throws IOException {
    Path file = Files.writeString(folder.resolve("edges"), "1,2\n");
    return EdgeLoader.over(TextPartition.plan(List.of(file.toString()), 1)).build();
  }

  private Edges edges() throws IOException {
    EdgeLoader loader = loader();
    return LocalRanks.run(1, (int rank, AllToAll exchange) -> loader.loadBothEnds(rank, exchange))
        .get(0);
  }

  private void addGroups() {
    String host = "127.0.0.1";
    all.put(Master.class, () -> Master.listen(host));
    all.put(
        ProcessGroup.class,
        () -> ProcessGroup.join(Master.listen(host), Part.whole(), GroupOptions.defaults()));
    all.put(
        PythonProcessGroup.class,
        () -> PythonProcessGroup.join(Master.listen(host), Part.whole(), GroupOptions.defaults()));
    all.put(AsyncCollectives.class, () -> all.get(ProcessGroup.class).async());
    all.put(LauncherBuilder.class, Launcher::builder);
    all.put(AveragingAlgorithm.class, AveragingAlgorithm::decentralized);
    all.put(
        ModelAveraging.class,
        () ->
            ModelAveraging.wrap(
                new LinearImpl(1, 1),
                all.get(ProcessGroup.class),
                all.get(AveragingAlgorithm.class)));
    all.put(
        TrainingLoopBuilder.class,
        () -> TrainingLoop.of(all.get(Ranks.class), SingleModel.wrap(all.get(Module.class))));
    all.put(Ranks.class, () -> Ranks.of(all.get(ProcessGroup.class)));
    all.put(StateStore.class, StateStore::none);
    all.put(ElasticRanks.class, () -> ElasticRanks.of(all.get(Membership.class)));
    all.put(SingleModel.class, () -> SingleModel.wrap(all.get(Module.class)));
    all.put(
        LearningRate.class,
        () -> LearningRate.perStep(all.get(Optimizer.class), Schedule.constant()));
    all.put(
        SummaryWriter.class, () -> SummaryWriter.open(Files.createTempDirectory(folder, "run")));
    all.put(EvaluationOptions.class, EvaluationOptions::ofLoss);
    all.put(TraceOptions.class, () -> TraceOptions.to(all.get(Path.class)));
    all.put(Plateau.class, () -> Plateau.ofLoss(PlateauOptions.defaults()));
    all.put(Progress.class, () -> Progress.over(all.get(DataLoader.class)));
    all.put(Generations.class, () -> Generations.open(Path.of("generations"), 1));
    all.put(
        TrainingLoop.class,
        () ->
            TrainingLoop.alone(all.get(Module.class))
                .state(parts -> {})
                .loader(part -> all.get(DataLoader.class))
                .epochs(1)
                .build());
    all.put(KeyValueStore.class, () -> all.get(ProcessGroup.class).store());
    all.put(Work.class, () -> all.get(ProcessGroup.class).async().barrier());
    all.put(
        DistributedDataParallel.class,
        () -> DistributedDataParallel.wrap(all.get(Module.class), all.get(ProcessGroup.class)));
    all.put(
        UnevenInputs.class,
        () ->
            DistributedDataParallel.wrap(new LinearImpl(1, 1), all.get(ProcessGroup.class))
                .unevenInputs(Uneven.passes(1)));
    all.put(
        PythonDataParallel.class,
        () ->
            PythonDataParallel.wrap(
                all.get(Module.class),
                all.get(PythonProcessGroup.class),
                DataParallelOptions.defaults()));
    all.put(Coordinator.class, () -> Coordinator.listen(host, 0, CoordinatorOptions.of(1, 1)));
    all.put(JobSecret.class, JobSecret::random);
    all.put(Membership.class, () -> Membership.join(host, all.get(Coordinator.class).port()));
    all.put(
        ElasticGroup.class,
        () ->
            ElasticGroup.next(all.get(Membership.class), GroupOptions.defaults(), "")
                .orElseThrow());
  }
}
