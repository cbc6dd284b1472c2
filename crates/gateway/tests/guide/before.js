const express = require('express');
const app = express();

app.use(express.json());

app.post('/agent', async (req, res) => {
  const { task_id, input } = req.body;
  
  try {
    const result = await processTask(input);
    
    res.json({
      task_id,
      status: 'success',
      output: result,
      error: null
    });
  } catch (error) {
    res.status(500).json({
      task_id,
      status: 'error',
      output: null,
      error: error.message
    });
  }
});

async function processTask(input) {
  const query = input.query || '';
  // Your processing logic here
  return { result: `Processed: ${query}` };
}

app.listen(8080, () => {
  console.log('Agent listening on port 8080');
});
