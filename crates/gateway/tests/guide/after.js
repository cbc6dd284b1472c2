const express = require('express');
const app = express();

app.use(express.json());

app.post('/agent', async (req, res) => {
  const { jsonrpc, id, method, params } = req.body;
  
  // Validate JSON-RPC structure
  if (jsonrpc !== '2.0') {
    return res.status(400).json({
      jsonrpc: '2.0',
      id,
      error: {
        code: -32600,
        message: 'Invalid Request: jsonrpc must be 2.0'
      }
    });
  }
  
  if (method !== 'message/send') {
    return res.status(400).json({
      jsonrpc: '2.0',
      id,
      error: {
        code: -32601,
        message: `Method not found: ${method}`
      }
    });
  }
  
  try {
    // Extract input from message parts
    const message = params.message;
    const parts = message.parts;
    const inputText = parts[0].text;
    
    // Parse input
    let inputData;
    try {
      inputData = JSON.parse(inputText);
    } catch (e) {
      inputData = { text: inputText };
    }
    
    // Process the task
    const result = await processTask(inputData);
    const resultText = typeof result === 'object' ? JSON.stringify(result) : String(result);
    
    // Build JSON-RPC response
    res.json({
      jsonrpc: '2.0',
      id,
      result: {
        status: {
          state: 'completed'
        },
        artifacts: [
          {
            parts: [
              {
                kind: 'text',
                text: resultText
              }
            ]
          }
        ],
        history: [
          {
            role: 'user',
            parts: [{ kind: 'text', text: inputText }]
          },
          {
            role: 'agent',
            parts: [{ kind: 'text', text: resultText }]
          }
        ]
      }
    });
  } catch (error) {
    res.status(500).json({
      jsonrpc: '2.0',
      id,
      error: {
        code: -32603,
        message: `Internal error: ${error.message}`
      }
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
